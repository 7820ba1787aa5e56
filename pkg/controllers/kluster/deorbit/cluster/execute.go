// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/plan"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// execution is the writing of one check.
type execution struct {
	mu sync.Mutex
	stage.Report
	// unreachable are the webhooks that rejected something because they could not be reached.
	unreachable map[webhook]bool
	err         error
}

// execute does the steps of a plan, several concurrently, and completes its report. It begins none after enough, nor after the API
// server failed.
func (c *Connection) execute(ctx context.Context, p plan.Plan, enough time.Time) (stage.Report, error) {
	e := &execution{Report: p.Report, unreachable: map[webhook]bool{}}
	queue := make(chan plan.Step)
	var workers sync.WaitGroup
	for range min(Parallel, len(p.Steps)) {
		workers.Go(func() {
			for step := range queue {
				if e.failed() != nil || !time.Now().Before(enough) {
					e.remains(step, "its turn comes in the next check")
					continue
				}
				e.note(c, step, c.write(ctx, step))
			}
		})
	}
	for _, step := range p.Steps {
		queue <- step
	}
	close(queue)
	workers.Wait()
	if e.err != nil {
		return e.Report, e.err
	}
	removed, err := c.removeUnreachable(ctx, e.unreachable)
	e.Deleted = append(e.Deleted, removed...)
	return e.Report, err
}

// write does one step.
func (c *Connection) write(ctx context.Context, step plan.Step) error {
	resources := c.dynamic.Resource(step.Resource)
	var objects dynamic.ResourceInterface = resources
	if step.Object.Namespace != "" {
		objects = resources.Namespace(step.Object.Namespace)
	}
	if step.Action == plan.KeepFloatingIP {
		return annotate(ctx, objects, step.Object)
	}
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &step.Object.UID}}
	if step.Exact {
		options.Preconditions.ResourceVersion = &step.Object.ResourceVersion
	}
	if step.Action == plan.Kill {
		options.GracePeriodSeconds = new(int64(0))
	}
	return objects.Delete(ctx, step.Object.Name, options)
}

// annotate makes the cloud provider keep the floating IP of a Service.
func annotate(ctx context.Context, objects dynamic.ResourceInterface, object inventory.Meta) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": object.UID, "resourceVersion": object.ResourceVersion, "annotations": map[string]string{inventory.KeepFloatingIPAnnotation: "true"},
	}})
	if err != nil {
		return err
	}
	_, err = objects.Patch(ctx, object.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

// note records the outcome of a step.
func (e *execution) note(c *Connection, step plan.Step, response error) {
	operation := "DELETE"
	if step.Action == plan.KeepFloatingIP {
		operation = "UPDATE"
	}
	if hook, ok := unreachable(response, operation); ok {
		e.mu.Lock()
		e.unreachable[hook] = true
		e.mu.Unlock()
	}
	verdict, err := judge(response)
	switch {
	case isTimeout(response):
		// Reading worked in this check: it is a webhook that takes its time. If it is the API server, the next check sees it.
		e.remains(step, fmt.Sprintf("no response within %s: a webhook may be slow", requestTimeout))
	case err != nil:
		e.remains(step, "the API server failed")
		e.mu.Lock()
		e.err = c.failed(fmt.Sprintf("write %s %s", step.Resource.Resource, step.Object.Key()), err)
		e.mu.Unlock()
	case verdict == accepted:
		e.remains(step, step.Reason)
		if operation == "DELETE" {
			e.mu.Lock()
			e.Deleted = append(e.Deleted, plan.Reported(step.Kind, step.Object, step.ID, ""))
			e.mu.Unlock()
		}
	case verdict == changed:
		e.remains(step, "it changed meanwhile")
	case verdict == rejected:
		e.remains(step, c.rejection(response))
		e.mu.Lock()
		plan.Reject(&e.Seen, step)
		e.mu.Unlock()
	}
}

func (e *execution) remains(step plan.Step, reason string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Remaining = append(e.Remaining, plan.Reported(step.Kind, step.Object, step.ID, reason))
}

func (e *execution) failed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}
