// Package wire is what the provider clients that speak HTTP share. A client is a [Dialect] (how its API writes a question
// and reads an answer) on a [Transport]:
//
//	question → Dialect.Encode → Transport.Post → status, shape of the body
//	         → one JSON text: Dialect.Whole   → Turn → answer, or one provider.Error
//	         → a stream:      Dialect.Event … → Turn → answer, or one provider.Error
//
// What holds for every client:
//   - One call is at most one request that the provider works on. There are no hidden retries and no redirects.
//   - Everything read is bounded: 64 KiB of an error, 8 MiB of an event, 32 MiB of an answer.
//   - A stream is complete only with the API's own terminal evidence. The end of the connection alone is a broken call,
//     and so is the mark [DONE] alone, which gateways add after whatever they got.
//   - A body in the wrong shape is read as what it is: a whole answer where a stream was asked for, and the reverse.
//   - Bodies are looked at to classify a failure and then dropped. No error holds text of one.
//   - When the context of a call ends, its connection is closed, so that the provider sees it and can stop working.
package wire
