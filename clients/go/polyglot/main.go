// The relay's worker in Go: clients/go/polyglot/run STEP FILE. examples/polyglot/README.md says what such a worker does.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perdure/perdure/clients/go"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// baton is input and output of every step.
type baton struct {
	Number int64    `json:"number"`
	Hold   string   `json:"hold"`
	Path   []string `json:"path"`
}

type began struct {
	Event   string `json:"event"`
	Key     string `json:"key"`
	Step    string `json:"step"`
	ClaimNo int64  `json:"claim_no"`
	TraceID string `json:"trace_id"`
}

func runner(needs []string) func(perdure.Context, perdure.Inputs) (baton, error) {
	return func(ctx perdure.Context, in perdure.Inputs) (baton, error) {
		traceID := trace.SpanContextFromContext(ctx).TraceID().String()
		if err := json.NewEncoder(os.Stdout).Encode(began{"began", ctx.BusinessKey(), ctx.Step(), ctx.ClaimNo(), traceID}); err != nil {
			return baton{}, err
		}
		made := baton{Path: []string{}}
		for _, need := range needs {
			got, err := perdure.Decode[baton](in[need])
			if err != nil {
				return baton{}, err
			}
			made.Number, made.Hold = max(made.Number, got.Number), got.Hold
			for _, place := range got.Path {
				if !slices.Contains(made.Path, place) {
					made.Path = append(made.Path, place)
				}
			}
		}
		if made.Hold == ctx.Step() && ctx.ClaimNo() == 1 {
			<-ctx.Done() // until it is killed
			return baton{}, ctx.Err()
		}
		made.Number++
		made.Path = append(made.Path, ctx.Step()+":go")
		return made, nil
	}
}

func needsOf(definition *perdurev1.Definition, name string) ([]string, error) {
	for _, step := range definition.GetSteps() {
		if step.GetName() == name {
			return step.GetNeeds().GetNames(), nil
		}
	}
	return nil, fmt.Errorf("%s has no step %s", definition.GetWorkflowType(), name)
}

func run(step, file string) error {
	ctx, stop := perdure.UntilTerminated(context.Background())
	defer stop()
	definition, err := perdure.LoadDefinition(file)
	if err != nil {
		return err
	}
	needs, err := needsOf(definition, step)
	if err != nil {
		return err
	}
	client, err := perdure.Dial()
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Worker(perdure.Offer(definition), perdure.Serve("relay", step, runner(needs))).Run(ctx)
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: run STEP FILE")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}
