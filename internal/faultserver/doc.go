// Package faultserver is an HTTP/1.1 server for tests that misbehaves at the wire exactly as it is told: it resets, cuts,
// stalls, drips and pings where a server made of net/http could not, and it records what its clients did.
//
//	s, err := faultserver.Start(ctx, func(r faultserver.Request) faultserver.Answer {
//		if r.N == 1 {
//			return faultserver.Answer{Mode: faultserver.ResetBeforeHeaders}
//		}
//		return faultserver.JSON(200, body)
//	})
//	defer s.Close()
//
// It listens on the loopback interface, on a free port.
package faultserver
