// A workflow of one step: served, started and awaited by one program. Run `perdure dev` in another terminal first.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/perdure/perdure/clients/go"
)

//go:embed greeting.perdure.yaml
var greeting []byte

type Person struct {
	Name string `json:"name"`
}

// The fields of the second argument name what the step needs: `input` is the workflow's own input.
func greet(ctx perdure.Context, in struct{ Input Person }) (string, error) {
	if in.Input.Name == "" {
		return "", &perdure.Failure{Type: "greeting.no_name", Message: "nobody to greet", NonRetryable: true}
	}
	return "Hello, " + in.Input.Name + "!", nil
}

func run(ctx context.Context, out io.Writer) error {
	client, err := perdure.Dial() // PERDURE_ADDRESS, else `perdure dev` on this machine
	if err != nil {
		return err
	}
	defer client.Close()
	definition, err := perdure.ParseDefinition(greeting)
	if err != nil {
		return err
	}
	worker := client.Worker(perdure.Register(definition), perdure.Serve("greeting", "greet", greet))
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	select {
	case <-worker.Ready(): // the definition is registered
	case err := <-ended:
		stop()
		return err
	}

	run, err := client.Start(ctx, "greeting", "ann", Person{Name: "Ann"})
	if err == nil {
		var text string
		text, err = perdure.Result[string](ctx, run)
		fmt.Fprintln(out, text)
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
