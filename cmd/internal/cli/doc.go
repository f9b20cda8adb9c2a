// Package cli is what the two programs share as command lines: one way to parse (every flag also as a FOURFOLD_… variable),
// one meaning of exit statuses, one look of tables.
//
//	0  done; for a run: OK or ABSTAINED, or still open when nobody waited
//	1  an error of the program's own
//	2  wrong usage
//	3  the run is DEGRADED
//	4  the run is FAILED
package cli
