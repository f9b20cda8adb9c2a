// Command enqueue is the producer's and operator's command line: it submits runs, follows them, and finds out how they ended.
//
// Its JSON documents and exit statuses are a public contract (see docs/design.md); golden tests hold them.
package main
