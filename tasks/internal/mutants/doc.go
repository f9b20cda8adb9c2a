// Command mutants breaks the state protocol in known ways, one at a time, and says which test notices.
//
//	make mutants
//	go run ./tasks/internal/mutants -only redrive    # those whose names contain a word
//
// Each mutation is a piece of text that takes the place of another in a copy of the module (mutations.go). The copy's tests
// run in stages, quick ones first, until one fails. A mutation that survives is a hole in the proof; one whose text is no
// longer in the file, or that does not compile, proves nothing: either ends the program with 1.
package main
