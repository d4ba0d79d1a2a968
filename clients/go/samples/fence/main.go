// The fence recipe: a number that rises with every round of a business key. A store that keeps the highest fence it has seen
// refuses the write of a step that comes too late, such as one whose process was paused while a newer round went on.
//
//	MongoDB   updateOne({_id: key, fence: {$lte: fence}}, {$set: {..., fence: fence}})
//	SQL       UPDATE pages SET ..., fence = :fence WHERE id = :key AND fence <= :fence
//
// `<=`, not `<`: the steps of one round share a fence, and an attempt that is made again must pass.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log"
	"os"
	"sync"

	"github.com/perdure/perdure/clients/go"
)

//go:embed page.perdure.yaml
var page []byte

// store is a table with a fence in each row.
type store struct {
	mutex  sync.Mutex
	text   map[string]string
	fences map[string]int64
}

// write is false if a newer round has written.
func (s *store) write(key, text string, fence int64) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.fences[key] > fence {
		return false
	}
	s.text[key], s.fences[key] = text, fence
	return true
}

func publishTo(store *store) func(perdure.Context, struct{ Input string }) (int64, error) {
	return func(ctx perdure.Context, in struct{ Input string }) (int64, error) {
		if !store.write(ctx.BusinessKey(), in.Input, ctx.Fence()) {
			return 0, &perdure.Failure{Type: "page.superseded", Message: "a newer round has written", NonRetryable: true}
		}
		return ctx.Fence(), nil
	}
}

func run(ctx context.Context, out io.Writer) error {
	client, err := perdure.Dial()
	if err != nil {
		return err
	}
	defer client.Close()
	definition, err := perdure.ParseDefinition(page)
	if err != nil {
		return err
	}
	store := &store{text: map[string]string{}, fences: map[string]int64{}}
	worker := client.Worker(perdure.Register(definition), perdure.Serve("page", "publish", publishTo(store)))
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	select {
	case <-worker.Ready():
	case err := <-ended:
		stop()
		return err
	}

	fences := make([]int64, 2)
	for round, text := range []string{"first", "second"} {
		var run *perdure.Run
		if run, err = client.Start(ctx, "page", "home", text, perdure.OnClosed(perdure.ClosedNewRound)); err != nil {
			break
		}
		if fences[round], err = perdure.Result[int64](ctx, run); err != nil {
			break
		}
	}
	late := store.write("home", "from a step of the first round that was paused", fences[0])
	fmt.Fprintf(out, "the fence rises: %t; the late write is taken: %t; the page: %s\n", fences[1] > fences[0], late, store.text["home"])
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
