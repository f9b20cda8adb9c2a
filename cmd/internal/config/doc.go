// Package config turns worker.yaml, flags and the environment into the parts that a process is wired from.
//
// The way through it:
//
//	Load      reads a file strictly: every problem at once, each with file, line and key
//	Overrides lays flags and FOURFOLD_… variables over what the file says
//	Finish    fills in defaults and checks how the parts fit together
//	Redis, Chains, Limits …  build what tasks and telemetry are given
//
// A File is plain data and can be printed (Redacted); keys and passwords are read from the environment or from files
// only when a part is built, and never stand in a File, a log or an error.
package config
