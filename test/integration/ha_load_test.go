// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	// loadKey is the annotation whose value a worker increments.
	loadKey = "groundskeeper.io/load"
	// loadAlive is the maximum number of objects of a worker.
	loadAlive = 4
	// loadTimeout is the timeout of a request.
	loadTimeout = 30 * time.Second
)

// retriable reports whether clients retry a request after an error: the server was unreachable, too busy, or did not respond before the
// deadline. Whether it performed the request is unknown.
func retriable(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		isCutOff(err)
}

// isCutOff reports whether kube-apiserver aborted a response, because the API server of Groundskeeper was killed after it had sent the
// headers.
func isCutOff(err error) bool {
	return err != nil && strings.Contains(err.Error(), "INTERNAL_ERROR; received from peer")
}

// haLoad is the load of users: workers create, read, change, list and delete objects of all four kinds through the aggregator, and
// record the acknowledged writes.
type haLoad struct {
	t       *testing.T
	client  client.WithWatch
	workers []*worker
	stop    context.CancelFunc
	group   sync.WaitGroup

	mu sync.Mutex
	// repeated counts the retriable errors of writes since the last check by message, reads those of reads.
	repeated map[string]int
	reads    int
}

// worker has the objects of one kind. Only its goroutine uses its fields, except the counter.
type worker struct {
	*haLoad
	kind
	namespace string
	// pace limits the rate of requests.
	pace    *time.Ticker
	created int
	// existing are the objects that must exist, with the last acknowledged value; deleted are those that must not.
	existing map[string]int
	deleted  []string
	order    []string
	// writes counts the acknowledged writes.
	writes atomic.Int64
}

// newLoad starts the load; end stops it.
func newLoad(t *testing.T, c client.WithWatch, namespace string) *haLoad {
	ctx, stop := context.WithCancel(t.Context())
	l := &haLoad{t: t, client: c, stop: stop, repeated: map[string]int{}}
	for _, k := range kinds() {
		h := &worker{haLoad: l, kind: k, existing: map[string]int{}}
		if k.namespaced {
			h.namespace, h.pace = namespace, time.NewTicker(20*time.Millisecond)
		} else {
			h.pace = time.NewTicker(100 * time.Millisecond) // a Project creates a namespace, roles and more
		}
		l.workers = append(l.workers, h)
	}
	for _, h := range l.workers {
		l.group.Go(func() { h.work(ctx) })
	}
	return l
}

// end waits until every worker has completed its request.
func (l *haLoad) end() {
	l.stop()
	l.group.Wait()
}

// continues waits until each worker has this number of further acknowledged writes.
func (l *haLoad) continues(t *testing.T, writes int64) {
	t.Helper()
	var wanted []int64
	for _, h := range l.workers {
		wanted = append(wanted, h.writes.Load()+writes)
	}
	eventually(t, func(context.Context) error {
		for i, h := range l.workers {
			if n := h.writes.Load(); n < wanted[i] && !l.t.Failed() {
				return fmt.Errorf("%s: %d more writes expected", h.kind.kind, wanted[i]-n)
			}
		}
		return nil
	})
	if l.t.Failed() {
		t.FailNow()
	}
}

// takeRepeated returns how many writes were repeated since the last check, for each error.
func (l *haLoad) takeRepeated() (writes map[string]int, reads int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	writes, reads = l.repeated, l.reads
	l.repeated, l.reads = map[string]int{}, 0
	return writes, reads
}

// turn waits for the next tick. It returns false when the context is done.
func (h *worker) turn(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-h.pace.C:
		return true
	}
}

func (h *worker) work(ctx context.Context) {
	defer h.pace.Stop()
	for step := 0; !h.t.Failed() && h.turn(ctx); step++ {
		switch {
		case len(h.order) < loadAlive:
			h.create()
		case step%7 == 0:
			h.delete(h.order[0])
		case step%7 == 3:
			h.list()
		default:
			h.change(h.order[step%len(h.order)])
		}
	}
}

// write repeats a write until a server acknowledges it. If the outcome of an earlier attempt is unknown, done reports whether an error
// means that it succeeded.
func (h *worker) write(what string, send func(ctx context.Context) error, done func(error) bool) {
	unknown := false
	for !h.t.Failed() {
		ctx, cancel := context.WithTimeout(h.t.Context(), loadTimeout)
		err := send(ctx)
		cancel()
		if err == nil || unknown && done(err) {
			h.writes.Add(1)
			return
		}
		if !retriable(err) {
			h.t.Errorf("%s of a %s failed: %T: %v", what, h.kind.kind, err, err)
			return
		}
		unknown = true
		h.mu.Lock()
		h.repeated[reason(err)]++
		h.mu.Unlock()
		if !h.turn(h.t.Context()) {
			return
		}
	}
}

// read repeats a read until it gets a response.
func (h *worker) read(what string, send func(ctx context.Context) error) {
	for !h.t.Failed() {
		ctx, cancel := context.WithTimeout(h.t.Context(), loadTimeout)
		err := send(ctx)
		cancel()
		if err == nil {
			return
		}
		if !retriable(err) {
			h.t.Errorf("%s of a %s failed: %T: %v", what, h.kind.kind, err, err)
			return
		}
		h.mu.Lock()
		h.reads++
		h.mu.Unlock()
		if !h.turn(h.t.Context()) {
			return
		}
	}
}

func (h *worker) create() {
	h.created++
	name := fmt.Sprintf("ha-%s-%d", strings.ToLower(h.short), h.created)
	h.write("creation", func(ctx context.Context) error {
		return h.client.Create(ctx, h.object(name))
	}, apierrors.IsAlreadyExists)
	h.existing[name], h.order = 0, append(h.order, name)
	h.check(name)
}

func (h *worker) change(name string) {
	value := h.existing[name] + 1
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, loadKey, value)
	h.write("change", func(ctx context.Context) error {
		return h.client.Patch(ctx, h.object(name), client.RawPatch(types.MergePatchType, patch))
	}, func(error) bool { return false })
	h.existing[name] = value
	h.check(name)
}

func (h *worker) delete(name string) {
	if h.confirmed {
		h.write("confirmation", func(ctx context.Context) error {
			return confirm(ctx, h.client, h.object(name))
		}, func(error) bool { return false })
	}
	h.write("deletion", func(ctx context.Context) error {
		return h.client.Delete(ctx, h.object(name))
	}, apierrors.IsNotFound)
	if h.settled == nil { // no controller on this plane removes the finalizer
		release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		h.write("release", func(ctx context.Context) error {
			return h.client.Patch(ctx, h.object(name), release)
		}, apierrors.IsNotFound)
	}
	delete(h.existing, name)
	h.deleted, h.order = append(h.deleted, name), slices.DeleteFunc(h.order, func(n string) bool { return n == name })
}

// check reads an object: every server returns the writes that another one acknowledged.
func (h *worker) check(name string) {
	object := h.object(name)
	h.read("reading", func(ctx context.Context) error { return h.client.Get(ctx, client.ObjectKeyFromObject(object), object) })
	if value := loadOf(object); value != h.existing[name] && !h.t.Failed() {
		h.t.Errorf("value of %s %s = %d, want %d, which was acknowledged", h.kind.kind, name, value, h.existing[name])
	}
}

func (h *worker) list() {
	h.read("list", func(ctx context.Context) error {
		found, err := h.names(ctx)
		if err != nil {
			return err
		}
		for name := range h.existing {
			if _, ok := found[name]; !ok {
				h.t.Errorf("%s %s is not in a list after its creation was acknowledged", h.kind.kind, name)
			}
		}
		return nil
	})
}

// names lists the objects of the worker with their values.
func (h *worker) names(ctx context.Context) (map[string]int, error) {
	list := &unstructured.UnstructuredList{}
	object := h.object("any-0")
	list.SetGroupVersionKind(object.GroupVersionKind())
	if err := h.client.List(ctx, list, client.InNamespace(h.namespace)); err != nil {
		return nil, err
	}
	found := map[string]int{}
	for _, item := range list.Items {
		if strings.HasPrefix(item.GetName(), "ha-") {
			found[item.GetName()] = loadOf(&item)
		}
	}
	return found, nil
}

// complete returns an error unless exactly the acknowledged objects exist.
func (h *worker) complete(ctx context.Context) error {
	found, err := h.names(ctx)
	if err != nil {
		return err
	}
	if !maps.Equal(found, h.existing) {
		return fmt.Errorf("%s = %v, want %v", h.resource, found, h.existing)
	}
	return nil
}

// object returns the manifest of the kind with a name.
func (h *worker) object(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(h.manifest, "NAME", name)), &object.Object); err != nil {
		h.t.Errorf("%s: %v", h.kind.kind, err)
	}
	object.SetNamespace(h.namespace)
	if h.kind.kind == "Kluster" { // the ranges of two Klusters on one router must not overlap
		number, _ := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
		router := fmt.Sprintf("0f6d6a5e-2d4a-4f60-9a43-%012d", number)
		if err := unstructured.SetNestedField(object.Object, router, "spec", "openstack", "routerID"); err != nil {
			h.t.Errorf("%s: %v", h.kind.kind, err)
		}
	}
	return object
}

func loadOf(object client.Object) int { return loadValue(object.GetAnnotations()) }

func loadValue(annotations map[string]string) int {
	value, _ := strconv.Atoi(annotations[loadKey])
	return value
}

// reason returns the message of an error, normalized so that equal errors are counted together.
func reason(err error) string {
	return fmt.Sprintf("%s: %.150s", apierrors.ReasonForError(err), strings.Join(strings.Fields(err.Error()), " "))
}
