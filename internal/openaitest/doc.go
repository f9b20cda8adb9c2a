// Package openaitest is a small server that speaks OpenAI's chat protocol on loopback, answers as a test scripts it, and
// counts what it was asked.
//
//	server := openaitest.Start(t)
//	server.On("classify", openaitest.TooManyRequests("1"), openaitest.Text(`[]`)) // once 429, then good for ever
//	… run something against server.URL …
//	server.Calls("classify") // 2
//
// A call belongs to the first rule whose word stands in its prompt; the rule's answers are given in order and the last
// one is repeated. A call that no rule knows gets status 500 and fails the test.
package openaitest
