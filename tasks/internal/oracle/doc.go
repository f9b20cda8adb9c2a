// Package oracle evaluates a run without a queue, a clock or a crash: what every real run of the same flow with the same
// own outcomes must end as. Tests compare the two.
package oracle
