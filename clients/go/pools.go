package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// pools splits the steps: one pool for each step that has slots of its own, one for the rest of each type and queue.
func (w *Worker) pools(ctx context.Context) ([]*perdurev1.Pool, error) {
	if w.options.fault != nil {
		return nil, w.options.fault
	}
	if len(w.options.served) == 0 {
		return nil, errors.New("nothing to run: give Client.Worker at least one step, by perdure.Serve")
	}
	planned := planning{worker: w, byName: map[string]*perdurev1.Pool{}, active: map[string]map[string]string{}}
	seen := map[stepOfType]bool{}
	for _, served := range w.options.served {
		if served.fault != nil {
			return nil, served.fault
		}
		place := stepOfType{served.workflowType, served.step}
		if seen[place] {
			return nil, fmt.Errorf("perdure.Serve(%q, %q): the step is served twice by this worker", place.workflowType, place.step)
		}
		seen[place] = true
		if err := planned.add(ctx, served); err != nil {
			return nil, err
		}
	}
	return planned.pools, nil
}

type planning struct {
	worker *Worker
	pools  []*perdurev1.Pool
	byName map[string]*perdurev1.Pool
	// active are the step contracts of active definitions, by type, as far as they were asked for.
	active map[string]map[string]string
}

func (p *planning) add(ctx context.Context, served *Served) error {
	contract := firstOf(served.contract, p.worker.options.contracts[served.workflowType][served.step])
	index := -1
	if contract == "" {
		index = p.offer(served)
	}
	pool := p.pool(served, index)
	if index >= 0 {
		pool.Steps = append(pool.Steps, served.step)
		return nil
	}
	if contract == "" {
		var err error
		if contract, err = p.activeContract(ctx, served); err != nil {
			return err
		}
	}
	pool.StepContracts[served.step] = contract
	return nil
}

// offer is the position of an offered definition that has the step; -1: there is none.
func (p *planning) offer(served *Served) int {
	return slices.IndexFunc(p.worker.options.offered, func(offered *perdurev1.OfferedDefinition) bool {
		definition := offered.GetDefinition()
		return definition.GetWorkflowType() == served.workflowType &&
			slices.ContainsFunc(definition.GetSteps(), func(step *perdurev1.StepDefinition) bool { return step.GetName() == served.step })
	})
}

func (p *planning) pool(served *Served, index int) *perdurev1.Pool {
	name, slots := served.workflowType, p.worker.options.slots
	if served.slots > 0 {
		name, slots = name+"."+served.step, served.slots
	}
	if served.queue != "" {
		name += "@" + served.queue
	}
	found := p.byName[name]
	if found != nil && (found.DefinitionIndex != nil) != (index >= 0) {
		name += "+" // a pool takes its contracts from a definition or from itself, never from both
		found = p.byName[name]
	}
	if found != nil {
		return found
	}
	made := &perdurev1.Pool{Pool: name, Queue: served.queue, WorkflowType: served.workflowType, Slots: int32(slots)}
	if index >= 0 {
		position := int32(index)
		made.DefinitionIndex = &position
	} else {
		made.StepContracts = map[string]string{}
	}
	p.byName[name] = made
	p.pools = append(p.pools, made)
	return made
}

// activeContract is that of the type's active definition now; the worker keeps it as long as it runs.
func (p *planning) activeContract(ctx context.Context, served *Served) (string, error) {
	contracts := p.active[served.workflowType]
	if contracts == nil {
		found, err := p.worker.client.Definitions().Get(ctx, served.workflowType, "")
		if err != nil {
			return "", fmt.Errorf("perdure.Serve(%q, %q): the step's contract: %w", served.workflowType, served.step, err)
		}
		contracts = found.StepContracts
		p.active[served.workflowType] = contracts
	}
	contract, ok := contracts[served.step]
	if !ok {
		return "", fmt.Errorf("perdure.Serve(%q, %q): the active definition has no such step that workers run", served.workflowType, served.step)
	}
	return contract, nil
}
