// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// counter is an annotation that a client counts up.
const counter = "example.com/counter"

// traffic is a client that reads and writes while the installation changes.
type traffic struct {
	h    *host
	stop context.CancelFunc
	done sync.WaitGroup
	// written is the last value of the counter that was acknowledged, writes how many were, and failed what was wrong.
	written, writes int
	retried         int
	failed          []error
}

// upgrade applies another build while a client reads and writes. Nothing is lost, nothing fails permanently, and no Project is
// anything but Ready.
func (h *host) upgrade(t *testing.T, to build) {
	t.Helper()
	before, err := h.objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := h.traffic(t)
	h.install(t, to)
	c.end(t)
	after, err := h.objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("%s was %s, and is %q after the upgrade", name, uid, after[name])
		}
	}
	h.isReady(t, "example")
}

// objects returns the uids of the objects owned by Groundskeeper that users made.
func (h *host) objects(ctx context.Context) (map[string]types.UID, error) {
	found := map[string]types.UID{}
	web := metav1.ObjectMeta{Namespace: "default", Name: "web"}
	for _, object := range []client.Object{
		&gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "example"}}, &kubernikusv1.Kluster{ObjectMeta: web}, &midonetv1.Translation{ObjectMeta: web},
		&gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: "installed"}},
	} {
		key := client.ObjectKeyFromObject(object)
		if err := h.Get(ctx, key, object); err != nil {
			return nil, fmt.Errorf("%T %s: %w", object, key, err)
		}
		found[fmt.Sprintf("%T %s", object, key)] = object.GetUID()
	}
	return found, nil
}

// traffic starts a client.
func (h *host) traffic(t *testing.T) *traffic {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &traffic{h: h, stop: stop}
	c.done.Go(func() {
		for pace := time.Tick(20 * time.Millisecond); ctx.Err() == nil; <-pace {
			c.write(ctx)
			c.read(ctx)
		}
	})
	return c
}

// write counts up by one.
func (c *traffic) write(ctx context.Context) {
	k := &kubernikusv1.Kluster{}
	k.Namespace, k.Name = "default", "web"
	next := c.written + 1
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, counter, next)
	if err := c.h.Patch(ctx, k, client.RawPatch(types.MergePatchType, patch)); c.note(ctx, "write", err) {
		c.written = next
		c.writes++
	}
}

// read checks all Projects, and at what was written.
func (c *traffic) read(ctx context.Context) {
	projects := &gardenerv1beta1.ProjectList{}
	if c.note(ctx, "list", c.h.List(ctx, projects)) {
		if len(projects.Items) == 0 {
			c.failed = append(c.failed, errors.New("there is no Project"))
		}
		for i := range projects.Items {
			if phase := projects.Items[i].Status.Phase; phase != gardenerv1beta1.ProjectReady {
				c.failed = append(c.failed, fmt.Errorf("project %s is %q", projects.Items[i].Name, phase))
			}
		}
	}
	k := &kubernikusv1.Kluster{}
	if c.note(ctx, "get", c.h.Get(ctx, client.ObjectKey{Namespace: "default", Name: "web"}, k)) {
		// A write whose response was lost may be there already.
		if got, err := strconv.Atoi(k.Annotations[counter]); c.written > 0 && (err != nil || got < c.written) {
			c.failed = append(c.failed, fmt.Errorf("%d was written, and %q is read", c.written, k.Annotations[counter]))
		}
	}
}

// note reports whether a request was successful. One that failed may fail in a way that requests a client to retry.
func (c *traffic) note(ctx context.Context, what string, err error) bool {
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil:
	case isRetriable(err):
		c.retried++
	default:
		c.failed = append(c.failed, fmt.Errorf("%s: %w", what, err))
	}
	return false
}

// isRetriable reports whether an error is one of those that may be retried: no server responds now, or the connection broke.
func isRetriable(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsConflict(err) || utilnet.IsConnectionReset(err) || utilnet.IsConnectionRefused(err) || utilnet.IsTimeout(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE)
}

// end stops the client. It wrote, before and after, and nothing was wrong.
func (c *traffic) end(t *testing.T) {
	t.Helper()
	last := c.h.counted(t)
	eventually(t, func(context.Context) error { // it works with the new build
		if now := c.h.counted(t); now <= last {
			return fmt.Errorf("the counter stays %d", now)
		}
		return nil
	})
	c.stop()
	c.done.Wait()
	t.Logf("%d writes, %d requests to be tried again", c.writes, c.retried)
	for i, err := range c.failed {
		if i == 5 {
			t.Errorf("and %d more", len(c.failed)-i)
			break
		}
		t.Error(err)
	}
}

// counted is how far the client is.
func (h *host) counted(t *testing.T) int {
	t.Helper()
	k := &kubernikusv1.Kluster{}
	if err := h.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, k); err != nil {
		return 0
	}
	count, err := strconv.Atoi(k.Annotations[counter])
	if err != nil {
		return 0
	}
	return count
}
