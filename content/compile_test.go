package content_test

import (
	"testing"

	"fourfold/internal/compiletest"
)

func TestWhatMustNotCompileDoesNot(t *testing.T) { compiletest.Check(t, "fourfold/content") }
