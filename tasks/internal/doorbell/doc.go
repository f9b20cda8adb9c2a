// Package doorbell is all that Fourfold has of asynq: at-least-once delivery of small references.
package doorbell
