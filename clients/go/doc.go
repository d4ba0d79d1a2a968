// Package perdure is the Go client of Perdure, a durable workflow service: it starts workflows, talks to them, watches
// them, and runs the steps that this program serves.
//
// A program that starts work needs a [Client] ([Dial]); one that runs steps gives functions to [Serve] and the result to
// [Client.Worker]. Without arguments both talk to `perdure dev` on this machine; PERDURE_ADDRESS and its siblings
// (see [Config]) say otherwise.
//
// A step is one function. It is run again from its top after a wait, a lost worker or a failed attempt; what it must
// remember it stores with [Context.Save]. It returns a value, a [Wait], or an error:
//
//	func transcribe(ctx perdure.Context, in struct{ Input Audio }) (string, error)
//
// Errors of calls are [*Error]; branch on [ReasonOf], never on text. The generated stubs are in gen/perdure/v1;
// [Client.Conn] is the connection for them, with the client's deadline, retries, token, trace context and codec.
package perdure
