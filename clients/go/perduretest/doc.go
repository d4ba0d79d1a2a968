// Package perduretest tests workflows and steps without sleeping.
//
// [Start] runs a whole server, `perdure dev --test`, whose clock the test moves: thirty days pass in no time.
//
//	server := perduretest.Start(t)
//	client := server.Client(t)
//	...
//	server.Advance(ctx, 3*24*time.Hour)
//
// [NewStep] runs one step by itself, without any server, and records what it did.
package perduretest
