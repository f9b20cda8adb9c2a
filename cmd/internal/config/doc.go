// Package config turns worker.yaml, flags and the environment into the parts that a process is wired from.
//
// The way through it:
//
//	Load      reads a file strictly
//	Overrides are flags and FOURFOLD_… variables, which stand above the file
//	Finish    lays them over it, fills in defaults, and reports every problem at once, each with file, line and key
//	Redis, Chains, Limits …  build what tasks and telemetry are given
//
// A File is plain data and can be printed (Redacted); keys and passwords are read from the environment or from files
// only when a part is built, and never stand in a File, a log or an error.
package config
