// Package e2e tries the two programs as outsiders do: built binaries, a real Redis, and a server that speaks OpenAI's
// protocol and does what the test says. It has tests only.
package e2e
