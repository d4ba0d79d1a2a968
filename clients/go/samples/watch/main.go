// A watch that is left and taken up again, as by a browser that reconnects: nothing is missing, nothing comes twice.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/perdure/perdure/clients/go"
)

//go:embed story.perdure.yaml
var story []byte

// write streams its words to whoever watches.
func write(ctx perdure.Context, in struct{ Input string }) (string, error) {
	words := strings.SplitAfter(in.Input, " ")
	for index, word := range words {
		ctx.Frame(word)
		ctx.Progress(perdure.Progress{Done: float64(index + 1), Total: float64(len(words)), Unit: "words"})
	}
	return strings.ToUpper(in.Input), nil
}

// page is what a reader has on the screen.
type page struct {
	text  string
	token string // of the last event; it may be stored, and used in another process
}

// follow reads until the end, or until the reader has seen enough; then take it up again with the token.
func (p *page) follow(ctx context.Context, run *perdure.Run, enough func() bool) (done bool, err error) {
	for event, err := range run.Watch(ctx, perdure.ResumeAfter(p.token)) {
		if err != nil {
			return false, err
		}
		p.token = event.ResumeToken()
		switch event := event.(type) {
		case *perdure.Frame:
			if event.Kind == "TEXT" {
				p.text += event.Text()
			}
		case *perdure.FramesReset: // the attempt is void: what it has sent is written anew
			p.text = ""
		case *perdure.Gap: // something is no longer kept; a snapshot follows if it is a change
			p.text += " [...] "
		case *perdure.End:
			return true, nil
		}
		if enough() {
			return false, nil
		}
	}
	return false, nil
}

func run(ctx context.Context, out io.Writer) error {
	client, err := perdure.Dial()
	if err != nil {
		return err
	}
	defer client.Close()
	definition, err := perdure.ParseDefinition(story)
	if err != nil {
		return err
	}
	worker := client.Worker(perdure.Register(definition), perdure.Serve("story", "write", write))
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	select {
	case <-worker.Ready():
	case err := <-ended:
		stop()
		return err
	}

	run, err := client.Start(ctx, "story", "story-1", "once upon a time")
	if err == nil {
		page := &page{}
		for done := false; !done && err == nil; {
			seen := 0
			done, err = page.follow(ctx, run, func() bool { seen++; return seen == 3 }) // leaves after every third event
		}
		fmt.Fprintln(out, page.text)
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
