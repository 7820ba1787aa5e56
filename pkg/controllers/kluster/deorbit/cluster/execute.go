// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	var group errgroup.Group
	group.SetLimit(Parallel)
	for _, step := range p.Steps {
		group.Go(func() error {
			if e.mayWrite(step, enough) {
				e.note(c, step, c.write(ctx, step))
			}
			return nil
		})
	}
	_ = group.Wait()
	if e.err != nil {
		return e.Report, e.err
	}
	removed, err := c.removeUnreachable(ctx, e.unreachable)
	e.Deleted = append(e.Deleted, removed...)
	return e.Report, err
}

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
		"uid": object.UID, "resourceVersion": object.ResourceVersion,
		"annotations": map[string]string{inventory.KeepFloatingIPAnnotation: "true"},
	}})
	if err != nil {
		return err
	}
	_, err = objects.Patch(ctx, object.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

// mayWrite reports whether a step is still done in this check.
func (e *execution) mayWrite(step plan.Step, enough time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil && time.Now().Before(enough) {
		return true
	}
	e.remains(step, "its turn comes in the next check")
	return false
}

func (e *execution) note(c *Connection, step plan.Step, response error) {
	operation := "DELETE"
	if step.Action == plan.KeepFloatingIP {
		operation = "UPDATE"
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if hook, ok := unreachable(response, operation); ok {
		e.unreachable[hook] = true
	}
	verdict, err := judge(response)
	switch {
	case isTimeout(response):
		// Reading worked in this check: it is a webhook that takes its time. If it is the API server, the next check sees it.
		e.remains(step, fmt.Sprintf("no response within %s: a webhook may be slow", requestTimeout))
	case err != nil:
		e.remains(step, "the API server failed")
		e.err = c.failed(fmt.Sprintf("write %s %s", step.Resource.Resource, step.Object.Key()), err)
	case verdict == accepted:
		e.remains(step, step.Reason)
		if operation == "DELETE" {
			e.Deleted = append(e.Deleted, plan.Reported(step.Kind, step.Object, step.ID, ""))
		}
	case verdict == changed:
		e.remains(step, "it changed meanwhile")
	case verdict == rejected:
		e.remains(step, c.rejection(response))
		plan.Reject(&e.Seen, step)
	}
}

// remains is called with the lock held.
func (e *execution) remains(step plan.Step, reason string) {
	e.Remaining = append(e.Remaining, plan.Reported(step.Kind, step.Object, step.ID, reason))
}

// ensure writes an object as desired, unless it is so already, and returns it.
func ensure[A any, O metav1.Object](
	ctx context.Context, wanted A, api configurations[A, O], extract func(O, string) (A, error),
) (O, error) {
	live, err := api.Get(ctx, freezeName, metav1.GetOptions{})
	exists := err == nil
	switch {
	case exists:
		// The managed fields show whether another client has changed the object since the last write.
		if own, err := extract(live, fieldManager); err == nil && equality.Semantic.DeepEqual(own, wanted) {
			return live, nil
		}
	case !apierrors.IsNotFound(err):
		return live, err
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	written, err := api.Apply(ctx, wanted, options)
	if !exists || !apierrors.IsInvalid(err) {
		return written, err
	}
	// Changes of another client are in conflict with the desired state: replace the object.
	if err := api.Delete(ctx, freezeName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(live.GetUID())}}); err != nil {
		return live, err
	}
	return api.Apply(ctx, wanted, options)
}

// configurations is a typed client of a kind of objects that freeze a cluster.
type configurations[A, O any] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (O, error)
	Apply(ctx context.Context, wanted A, options metav1.ApplyOptions) (O, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// lift deletes the object of a kind that freezes the cluster, unless another client made it.
func lift[A any, O metav1.Object](ctx context.Context, api configurations[A, O]) (lifted bool, err error) {
	found, err := api.Get(ctx, freezeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get %s: %w", freezeName, err)
	}
	if !slices.ContainsFunc(found.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == fieldManager }) {
		return false, nil
	}
	err = api.Delete(ctx, freezeName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(found.GetUID())}})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err //nolint:wrapcheck // the caller names what it does
}

// probe reports why the cluster is not frozen, by a claim that it must reject. Where something else rejects that before the
// policies are queried (LimitRanges are), another namespace shows it.
func (c *Connection) probe(ctx context.Context) (reason string, err error) {
	for _, namespace := range probedNamespaces {
		_, response := c.kube.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, freezeProbe(namespace),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
		if response == nil {
			return "it is not in force yet: a dry run may create a claim in namespace " + namespace, nil
		}
		if rejectedByFreeze(response.Error()) {
			return "", nil
		}
		if _, err := judge(response); err != nil {
			return "", c.failed("create a claim in a dry run", err)
		}
		reason = fmt.Sprintf("it is not seen to be in force: a claim in namespace %s is rejected by something else: %s",
			namespace, c.clean(response.Error()))
	}
	return reason, nil
}

// removeWebhook takes one webhook out of its configuration, unless that changed. The others, and fields that are newer than
// Groundskeeper is, remain unchanged.
func (c *Connection) removeWebhook(ctx context.Context, e entry) error {
	at := fmt.Sprintf("/webhooks/%d", e.index)
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": e.version},
		{"op": "test", "path": at + "/name", "value": e.name},
		{"op": "remove", "path": at},
	})
	if err != nil {
		return err
	}
	api, options := c.kube.AdmissionregistrationV1(), metav1.PatchOptions{FieldManager: fieldManager}
	if e.kind == kindValidating {
		_, err = api.ValidatingWebhookConfigurations().Patch(ctx, e.config, types.JSONPatchType, patch, options)
	} else {
		_, err = api.MutatingWebhookConfigurations().Patch(ctx, e.config, types.JSONPatchType, patch, options)
	}
	return err
}
