package config

import (
	"bytes"
	"fmt"
	"os"
)

// secret reads a key or password from the variable or the file that is named; neither means none.
// Errors name the key, the variable or the file, never what is in it.
func secret(key, variable, file string, env Env) (string, error) {
	switch {
	case variable != "":
		v, ok := env(variable)
		if !ok || v == "" {
			return "", fmt.Errorf("%s: the environment has no %s", key, variable)
		}
		return v, nil
	case file != "":
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", key, err)
		}
		data = bytes.TrimSpace(data)
		if len(data) == 0 {
			return "", fmt.Errorf("%s: %s is empty", key, file)
		}
		return string(data), nil
	}
	return "", nil
}
