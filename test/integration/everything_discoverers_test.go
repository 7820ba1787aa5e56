// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// discoverers are those of one backend. One holds the Lease, another one is about to take over.
type discoverers struct {
	backend *discovered
	running []*copier
	// suspended is the one that is stopped at present, until another one has the Lease.
	suspended *copier
}

// copier is a discoverer that is started again when it has ended.
type copier struct {
	*child
	life int
}

// newCopied makes a backend of the workload cluster, with the permissions of its discoverers.
func (w *world) newCopied(t *testing.T) *discovered {
	t.Helper()
	d := &clusters{here: w.Plane, backend: w.workload, c: w.c, b: w.w, audit: w.audit, reads: kubeconfigFor(t, w.workload, "discoverer", "discovery/backend")}
	applyArtifacts(t, w.Plane, "discovery/discoverer.yaml")
	w.conceal(t)
	return d.discover(t, false)
}

// conceal keeps the discoverers from reading which cluster it is: a Kluster of the same cluster would not be deorbited as long as the
// backend is in use.
func (w *world) conceal(t *testing.T) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "gimbal-discoverer"}}
	if err := w.w.Get(t.Context(), client.ObjectKeyFromObject(role), role); err != nil {
		t.Fatal(err)
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.ResourceNames, metav1.NamespaceSystem) })
	if err := w.w.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
}

// discover starts a discoverer with credentials of a new life. Its identity in the Lease begins with that, too.
func (r *reaper) discover(c *copier) error {
	r.last++
	v, kubeconfig := r.backend, filepath.Join(r.dir, fmt.Sprintf("discoverer-%d.kubeconfig", r.last))
	if err := r.KubeconfigFor(kubeconfig, v.user(discoverer), "system:serviceaccounts", "system:serviceaccounts:"+v.admin, group(r.last)); err != nil {
		return err
	}
	args := append(v.args(kubeconfig, "127.0.0.1:0"), "--namespaces-allow="+v.ns, "--num-threads=2")
	c.life, c.child = r.last, startWithEnv(v.t, v.t.Context(), []string{"HOSTNAME=" + group(r.last)}, discoverer, args...)
	if !slices.Contains(r.running, c) {
		r.running = append(r.running, c)
	}
	return nil
}

// rediscover starts the discoverers again that have ended automatically.
func (r *reaper) rediscover() error {
	for _, c := range r.running {
		select {
		case err := <-c.ended:
			lines := c.stderr.lines()
			message := strings.Join(lines[max(0, len(lines)-8):], "\n")
			reason := reasonOf(message)
			if reason == "" {
				c.ended <- err // the next call returns this error again
				return fmt.Errorf("discoverer of life %d ended (%w):\n%s", c.life, err, message)
			}
			r.exits["discoverer "+reason]++
			if err := r.discover(c); err != nil {
				return err
			}
		default:
		}
	}
	return nil
}

// held returns the Lease of the discoverers.
func (r *reaper) held(ctx context.Context) (*coordinationv1.Lease, error) {
	held := lease(r.backend)
	if err := r.c.Get(ctx, client.ObjectKeyFromObject(held), held); err != nil {
		return nil, err
	}
	if held.Spec.HolderIdentity == nil || *held.Spec.HolderIdentity == "" {
		return nil, errors.New("no discoverer holds the Lease")
	}
	return held, nil
}

// holds reports whether a Lease is that of a discoverer.
func (c *copier) holds(lease *coordinationv1.Lease) bool {
	return strings.HasPrefix(*lease.Spec.HolderIdentity, group(c.life)+"_")
}

// strikeDiscoverer kills a discoverer and starts it again. A Lease that it held lasts for half a minute; half of the times, it is
// deleted, so that more discoverers take over.
func (r *reaper) strikeDiscoverer(t *testing.T) {
	t.Helper()
	patiently(t, func(context.Context) error { return r.rediscover() })
	c := r.running[r.random.IntN(len(r.running))]
	if c == r.suspended {
		c = r.running[(slices.Index(r.running, c)+1)%len(r.running)]
	}
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	c.exitCode()
	kind := "SIGKILL discoverer"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if held, err := r.held(ctx); err == nil && c.holds(held) {
		kind = "SIGKILL discoverer with the Lease"
		if r.random.IntN(2) == 0 {
			read := client.Preconditions{UID: &held.UID, ResourceVersion: &held.ResourceVersion}
			if err := r.c.Delete(ctx, held, read); err != nil {
				t.Fatal(err) // no other discoverer writes a Lease that is not over
			}
		}
	}
	r.kills[kind]++
	if err := r.discover(c); err != nil {
		t.Fatal(err)
	}
}

// suspend stops the discoverer that holds the Lease (SIGSTOP). It continues (SIGCONT) when another one has the Lease, which takes
// much longer than the time between two kills.
func (r *reaper) suspend(t *testing.T) {
	t.Helper()
	if r.suspended != nil {
		r.strikeDiscoverer(t)
		return
	}
	patiently(t, func(ctx context.Context) error {
		if err := r.rediscover(); err != nil {
			return err
		}
		held, err := r.held(ctx)
		if err != nil {
			return err
		}
		leader := slices.IndexFunc(r.running, func(c *copier) bool { return c.holds(held) })
		if leader < 0 {
			return fmt.Errorf("the Lease is still that of %s", *held.Spec.HolderIdentity)
		}
		if err := r.running[leader].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		r.suspended = r.running[leader]
		return nil
	})
	r.kills["SIGSTOP of the leading discoverer for longer than its Lease, SIGCONT"]++
}

// resumed lets a suspended discoverer continue when another one has its Lease, and waits until it has ended. It complains when it is
// too early.
func (r *reaper) resumed(ctx context.Context) error {
	c := r.suspended
	if c == nil {
		return nil
	}
	request, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	held, err := r.held(request)
	if err != nil {
		return err
	}
	if c.holds(held) {
		return fmt.Errorf("the Lease is still that of %s, which is stopped", *held.Spec.HolderIdentity)
	}
	r.revoked[c.life] = held.Spec.AcquireTime.Time
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	select {
	case err := <-c.ended:
		c.ended <- err
		r.suspended = nil
		return r.rediscover()
	case <-time.After(patience):
		r.backend.t.Fatalf("the discoverer of life %d continues without the Lease", c.life)
		return nil
	}
}
