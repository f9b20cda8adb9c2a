// Package rules holds the rules of this repository that a compiler does not know, as tests: which package may import
// which, what every package and file must have, and that the commands named in the documents exist.
//
// There is nothing here to import. A rule that fails names the file and says what to do; a rule that no longer fits is
// changed here, in the open, with its reason beside it.
package rules
