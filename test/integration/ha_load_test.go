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
	// loadKey is the annotation whose value a hand counts up.
	loadKey = "groundskeeper.io/load"
	// loadAlive is how many objects a hand has at most.
	loadAlive = 4
	// loadTimeout is how long a client waits for a response.
	loadTimeout = 30 * time.Second
)

// retriable reports whether an error is one that clients repeat a request after: the server could not be reached, was too busy, or
// did not respond before the deadline. Whether it did what the request specifies is unknown then.
func retriable(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		isCutOff(err)
}

// isCutOff reports whether kube-apiserver ended a request in the middle of the response: Groundskeeper's server was killed between
// its headers and its body.
func isCutOff(err error) bool {
	return err != nil && strings.Contains(err.Error(), "INTERNAL_ERROR; received from peer")
}

// haLoad is what users do all the time, through the aggregator: hands create, read, change, list and delete objects of all
// four kinds. Whatever a server confirmed is remembered.
type haLoad struct {
	t      *testing.T
	client client.WithWatch
	hands  []*hand
	stop   context.CancelFunc
	group  sync.WaitGroup

	mu sync.Mutex
	// repeated are the retriable errors of writes since the last check, by their text, and of reads.
	repeated map[string]int
	reads    int
}

// hand has objects of one kind. Its fields but the counter are its own while it works.
type hand struct {
	*haLoad
	kind
	namespace string
	// pace ticks when the hand is allowed to do the next thing.
	pace *time.Ticker
	made int
	// living are the objects that must be there, with the last value that a server confirmed; dead are those that must not.
	living map[string]int
	dead   []string
	order  []string
	// writes counts those that were confirmed.
	writes atomic.Int64
}

// newLoad begins the load; end ends it.
func newLoad(t *testing.T, c client.WithWatch, namespace string) *haLoad {
	ctx, stop := context.WithCancel(t.Context())
	l := &haLoad{t: t, client: c, stop: stop, repeated: map[string]int{}}
	for _, k := range kinds() {
		h := &hand{haLoad: l, kind: k, living: map[string]int{}}
		if k.namespaced {
			h.namespace, h.pace = namespace, time.NewTicker(20*time.Millisecond)
		} else {
			h.pace = time.NewTicker(100 * time.Millisecond) // each is a namespace, its roles and more
		}
		l.hands = append(l.hands, h)
	}
	for _, h := range l.hands {
		l.group.Go(func() { h.work(ctx) })
	}
	return l
}

// end lets every hand finish what it does.
func (l *haLoad) end() {
	l.stop()
	l.group.Wait()
}

// continues waits until every hand has had that many further writes confirmed.
func (l *haLoad) continues(t *testing.T, writes int64) {
	t.Helper()
	var wanted []int64
	for _, h := range l.hands {
		wanted = append(wanted, h.writes.Load()+writes)
	}
	eventually(t, func(context.Context) error {
		for i, h := range l.hands {
			if n := h.writes.Load(); n < wanted[i] && !l.t.Failed() {
				return fmt.Errorf("%s: %d writes are missing", h.kind.kind, wanted[i]-n)
			}
		}
		return nil
	})
	if l.t.Failed() {
		t.FailNow()
	}
}

// looked returns how many writes were repeated since the last check, for each error.
func (l *haLoad) looked() (writes map[string]int, reads int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	writes, reads = l.repeated, l.reads
	l.repeated, l.reads = map[string]int{}, 0
	return writes, reads
}

// turn waits for the next tick, false when the context is done.
func (h *hand) turn(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-h.pace.C:
		return true
	}
}

func (h *hand) work(ctx context.Context) {
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

// write repeats a write until a server confirmed it. When it is open what became of an earlier attempt, done reports whether an
// error means that it arrived.
func (h *hand) write(what string, send func(ctx context.Context) error, done func(error) bool) {
	open := false
	for !h.t.Failed() {
		ctx, cancel := context.WithTimeout(h.t.Context(), loadTimeout)
		err := send(ctx)
		cancel()
		if err == nil || open && done(err) {
			h.writes.Add(1)
			return
		}
		if !retriable(err) {
			h.t.Errorf("%s of a %s failed: %T: %v", what, h.kind.kind, err, err)
			return
		}
		open = true
		h.mu.Lock()
		h.repeated[reason(err)]++
		h.mu.Unlock()
		if !h.turn(h.t.Context()) {
			return
		}
	}
}

// read repeats a read until it gets a response.
func (h *hand) read(what string, send func(ctx context.Context) error) {
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

func (h *hand) create() {
	h.made++
	name := fmt.Sprintf("ha-%s-%d", strings.ToLower(h.short), h.made)
	h.write("creation", func(ctx context.Context) error {
		return h.client.Create(ctx, h.object(name))
	}, apierrors.IsAlreadyExists)
	h.living[name], h.order = 0, append(h.order, name)
	h.check(name)
}

func (h *hand) change(name string) {
	value := h.living[name] + 1
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, loadKey, value)
	h.write("change", func(ctx context.Context) error {
		return h.client.Patch(ctx, h.object(name), client.RawPatch(types.MergePatchType, patch))
	}, func(error) bool { return false })
	h.living[name] = value
	h.check(name)
}

func (h *hand) delete(name string) {
	if h.confirmed {
		h.write("confirmation", func(ctx context.Context) error {
			return confirm(ctx, h.client, h.object(name))
		}, func(error) bool { return false })
	}
	h.write("deletion", func(ctx context.Context) error {
		return h.client.Delete(ctx, h.object(name))
	}, apierrors.IsNotFound)
	if h.settled == nil { // there is no controller here that lets it go
		release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		h.write("release", func(ctx context.Context) error {
			return h.client.Patch(ctx, h.object(name), release)
		}, apierrors.IsNotFound)
	}
	delete(h.living, name)
	h.dead, h.order = append(h.dead, name), slices.DeleteFunc(h.order, func(n string) bool { return n == name })
}

// check reads an object: every server knows of every write that another one confirmed.
func (h *hand) check(name string) {
	object := h.object(name)
	h.read("reading", func(ctx context.Context) error { return h.client.Get(ctx, client.ObjectKeyFromObject(object), object) })
	if value := loadOf(object); value != h.living[name] && !h.t.Failed() {
		h.t.Errorf("%s %s has the value %d after %d was confirmed", h.kind.kind, name, value, h.living[name])
	}
}

func (h *hand) list() {
	h.read("list", func(ctx context.Context) error {
		found, err := h.names(ctx)
		if err != nil {
			return err
		}
		for name := range h.living {
			if _, ok := found[name]; !ok {
				h.t.Errorf("%s %s is not in a list after its creation was confirmed", h.kind.kind, name)
			}
		}
		return nil
	})
}

// names lists the objects of the hand that are not being deleted, with their values.
func (h *hand) names(ctx context.Context) (map[string]int, error) {
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

// complete complains unless there is what servers confirmed, and nothing else.
func (h *hand) complete(ctx context.Context) error {
	found, err := h.names(ctx)
	if err != nil {
		return err
	}
	if !maps.Equal(found, h.living) {
		return fmt.Errorf("%s: there are %v, and there should be %v", h.resource, found, h.living)
	}
	return nil
}

// object is the manifest of the kind under a name.
func (h *hand) object(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(h.manifest, "NAME", name)), &object.Object); err != nil {
		h.t.Errorf("%s: %v", h.kind.kind, err)
	}
	object.SetNamespace(h.namespace)
	if h.kind.kind == "Kluster" { // two on one router must not overlap
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

// reason is the text of an error without what differs each time.
func reason(err error) string {
	return fmt.Sprintf("%s: %.150s", apierrors.ReasonForError(err), strings.Join(strings.Fields(err.Error()), " "))
}
