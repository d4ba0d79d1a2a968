// The worker and client that I want to write in Go. This process serves one step of the four; the others are Python and Java.
// What must be true for each line is in README.md (T1-T14).
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure/clients/go"
	"github.com/perdure/perdure/clients/go/samples/dream/downstream/asr"
)

type Audio struct {
	URL string `json:"url"`
}

func transcribe(ctx perdure.Context, in struct{ Input Audio }) (string, error) { // T7: fields name what the step needs
	task, found, err := perdure.Checkpoint[string](ctx)
	if err == nil && !found {
		if task, err = asr.Submit(ctx, in.Input.URL, ctx.IdempotencyKey(), ctx.WakeToken()); err == nil { // T3, T4
			err = ctx.Save(task) // returns when stored
		}
	}
	if err != nil {
		return "", err
	}
	text, done, err := asr.Result(ctx, task)
	if err == nil && !done {
		return "", perdure.WaitAny(perdure.Signal("asr.done"), perdure.After(30*time.Second)) // T5: not a failure, no attempt charged
	}
	return text, err
}

func main() {
	ctx, stop := perdure.UntilTerminated(context.Background()) // SIGTERM: finish within the grace, else release with checkpoint
	defer stop()
	c, err := perdure.Dial() // PERDURE_ADDRESS, PERDURE_NAMESPACE, PERDURE_TOKEN
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	// T1, T13: contract of one step only, generated from note.perdure.yaml; a step added elsewhere does not strand this binary.
	w := c.Worker(perdure.Serve("note", "transcribe", transcribe, perdure.Slots(50)))
	go func() { log.Println(w.Run(ctx)) }()

	run, err := c.Start(ctx, "note", "note-42", Audio{URL: "s3://a.mp3"}, perdure.Label("tenant", "acme"))
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range run.Watch(ctx) { // T12: iter.Seq2, resumes by itself
		fmt.Println(event, err)
	}
	note, err := perdure.Result[string](ctx, run)
	fmt.Println(note, perdure.ReasonOf(err)) // T14: a stable reason, never text
}
