// Package flow reads flow files: the steps of a run, what needs what, and the prompts, schemas and
// expressions that the steps are made of.
//
// [Load] reads a flow file and every file that it names, checks all of it, and reports everything that is
// wrong at once as [Problems], with file, line and column. What comes out is a [Bundle]: the bytes of those
// files under their SHA-256. [Bundle.Encode] and [Decode] carry it to where the steps are run; a run keeps
// the SHA of its bundle, so that a deploy in the middle of a run changes nothing for it.
//
// [Bundle.Flow] is the checked flow. Its steps stand in topological order, so that every parent comes before
// its children, and a step's index is its place in that order. [Flow.Check] holds the flow against what a
// worker's configuration offers.
//
// A step is run by binding it to its inputs:
//
//	bound, err := step.Bind(flow.Inputs{Input: document, Steps: parents})
//	abstains, err := bound.Abstains()
//	system, prompt, err := bound.Prompt()
//	err = step.Validate(answer)
//	value, err := bound.DegradeTo()
//
// Inputs, prompts and values are content: they go in and come out as content.Of, and no error of this package
// quotes them. Problems are for the flow's author and do quote the bundle (expressions, keys, parts of
// templates), but never the inputs of a run.
//
// Prompts are Go templates and expressions are expr-lang. Neither can read files, clocks or the environment,
// and both are bounded in steps and in the size of what they make, so evaluating one twice on the same inputs
// gives the same result, and evaluating one ends.
package flow
