// A saga: reserve, charge, ship; what was done is undone when a later step fails for good, newest first.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"

	"github.com/perdure/perdure/clients/go"
)

//go:embed order.perdure.yaml
var order []byte

type Order struct {
	Article string `json:"article"`
	Address string `json:"address"`
}

type input struct{ Input Order }

// shop writes down what it did.
type shop struct {
	mutex sync.Mutex
	deeds []string
}

func (s *shop) does(deed string) func(perdure.Context, input) (perdure.None, error) {
	return func(ctx perdure.Context, in input) (perdure.None, error) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if hook := ctx.Hook(); hook != nil {
			deed += " (undoes " + hook.Compensates + ")"
		}
		s.deeds = append(s.deeds, deed)
		return perdure.None{}, nil
	}
}

func ship(_ perdure.Context, in input) (string, error) {
	if in.Input.Address == "" {
		return "", &perdure.Failure{Type: "order.no_address", Message: "nobody can ship that", NonRetryable: true}
	}
	return in.Input.Address, nil
}

func run(ctx context.Context, out io.Writer) error {
	client, err := perdure.Dial()
	if err != nil {
		return err
	}
	defer client.Close()
	definition, err := perdure.ParseDefinition(order)
	if err != nil {
		return err
	}
	shop := &shop{}
	worker := client.Worker(
		perdure.Register(definition),
		perdure.Serve("order", "reserve", shop.does("reserve")),
		perdure.Serve("order", "release", shop.does("release")),
		perdure.Serve("order", "charge", shop.does("charge")),
		perdure.Serve("order", "refund", shop.does("refund")),
		perdure.Serve("order", "ship", ship),
	)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	select {
	case <-worker.Ready():
	case err := <-ended:
		stop()
		return err
	}

	run, err := client.Start(ctx, "order", "order-1", Order{Article: "book"}) // without an address
	if err == nil {
		_, err = perdure.Result[string](ctx, run)
		var failed *perdure.WorkflowFailed
		if errors.As(err, &failed) {
			fmt.Fprintf(out, "failed in %s: %s\n", failed.Step, failed.Failure.Type)
			for _, deed := range shop.deeds {
				fmt.Fprintln(out, deed)
			}
			err = nil
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
