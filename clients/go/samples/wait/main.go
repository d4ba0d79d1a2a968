// A durable wait: a step hands a job to somebody else, and waits for the answer without holding a worker, for days if need be.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/perdure/perdure/clients/go"
)

//go:embed letter.perdure.yaml
var letter []byte

// printer is somebody else's service: it takes a job once per key, and calls back with a token.
type printer interface {
	Submit(ctx context.Context, text, key, callback string) (job string, err error)
	IsPrinted(ctx context.Context, job string) (bool, error)
}

func printBy(service printer) func(perdure.Context, struct{ Input string }) (string, error) {
	return func(ctx perdure.Context, in struct{ Input string }) (string, error) {
		job, found, err := perdure.Checkpoint[string](ctx)
		if err == nil && !found { // a key that is the same in every attempt; a token that a webhook can call back with
			if job, err = service.Submit(ctx, in.Input, ctx.IdempotencyKey(), ctx.WakeToken()); err == nil {
				err = ctx.Save(job) // returns when it is stored
			}
		}
		if err != nil {
			return "", err
		}
		printed, err := service.IsPrinted(ctx, job) // whatever woke us: read the truth again
		if err == nil && !printed {
			return "", perdure.WaitAny(perdure.Signal("printed"), perdure.After(24*time.Hour)) // no failure, no attempt charged
		}
		return job, err
	}
}

func run(ctx context.Context, out io.Writer) error {
	client, err := perdure.Dial()
	if err != nil {
		return err
	}
	defer client.Close()
	definition, err := perdure.ParseDefinition(letter)
	if err != nil {
		return err
	}
	office := &office{}
	worker := client.Worker(perdure.Register(definition), perdure.Serve("letter", "print", printBy(office)))
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	select {
	case <-worker.Ready():
	case err := <-ended:
		stop()
		return err
	}

	run, err := client.Start(ctx, "letter", "letter-1", "Dear Ann")
	if err == nil {
		for event, failed := range run.Watch(ctx) {
			if err = failed; err != nil {
				break
			}
			fmt.Fprintln(out, event)
			if event.WaitsFor("printed") { // this is what the printer's webhook does
				_, err = client.SignalByToken(ctx, office.finish(), "printed", nil, perdure.SignalID("job-1"))
			}
		}
	}
	stop()
	if stopped := <-ended; err == nil {
		err = stopped
	}
	return err
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
