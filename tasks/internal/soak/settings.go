package main

import (
	"math/rand/v2"
	"time"
)

// settings is how hard a soak is.
type settings struct {
	workers     int
	concurrency int           // of each
	lease       time.Duration // of claims
	drain       time.Duration // longer than any call
	slowest     time.Duration // call
	flows       int           // in a round
	runs        int           // of each flow
	faults      []fault       // of a round, in random order
	pause       time.Duration // the longest between two faults
	outages     []time.Duration
	patience    time.Duration // for a run to end, once faults are over
}

// fault is one thing that happens to the fleet, or to what it needs.
type fault string

const (
	kill    fault = "kill"    // SIGKILL of a worker
	end     fault = "end"     // SIGTERM: calls in flight end in time
	stop    fault = "stop"    // SIGSTOP of a worker, beyond its lease
	restart fault = "restart" // Redis is killed and comes back at once
	outage  fault = "outage"  // Redis is killed and stays away
	silence fault = "silence" // Redis answers nothing for a while
)

func times(n int, f fault) (fs []fault) {
	for range n {
		fs = append(fs, f)
	}
	return fs
}

func join(lists ...[]fault) (all []fault) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// long has the times of production: the usual lease, and outages of 5, 20 and 45 seconds.
var long = settings{
	workers: 3, concurrency: 8, lease: 12 * time.Second, drain: 10 * time.Second, slowest: 4 * time.Second, flows: 40, runs: 6,
	faults: join(times(10, kill), times(3, end), times(2, stop), times(2, restart), times(1, outage), times(1, silence)),
	pause:  4 * time.Second, outages: []time.Duration{5 * time.Second, 20 * time.Second, 45 * time.Second}, patience: 10 * time.Minute,
}

// short is what a test has time for: a dozen kills.
var short = settings{
	workers: 3, concurrency: 8, lease: 4 * time.Second, drain: 10 * time.Second, slowest: time.Second, flows: 20, runs: 5,
	faults: join(times(12, kill), times(1, end), times(1, stop), times(1, restart)),
	pause:  900 * time.Millisecond, outages: []time.Duration{2 * time.Second}, patience: 5 * time.Minute,
}

// upTo draws a time below d.
func upTo(rng *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(rng.Int64N(max(1, int64(d))))
}
