package main

import (
	"errors"
	"time"

	"fourfold/tasks"
)

// The flags whose values have a form of their own. A value that has not is wrong usage, named with its flag by the parser.

// queueFlag is a queue's name.
type queueFlag string

func (q *queueFlag) UnmarshalText(text []byte) error {
	*q = queueFlag(text)
	return tasks.CheckQueueName(string(text))
}

// span is a time that must be longer than zero; zero is a flag that was not given.
type span time.Duration

var errSpan = errors.New("must be a duration longer than zero, such as 30s or 5m")

func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d <= 0 {
		return errSpan
	}
	*s = span(d)
	return nil
}

func (s span) std() time.Duration { return time.Duration(s) }
