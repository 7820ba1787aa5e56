// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage"

	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

// TestUsersOfEtcd checks that the storage works with user authentication of etcd, as a user who is allowed to read and write what is below
// the prefix and no more, as documented, and that another user cannot. Only root is allowed to compact.
func TestUsersOfEtcd(t *testing.T) {
	const registry = "/test-registry/"
	etcd, users := etcdtest.RunWithUsers(t, map[string]string{"groundskeeper": registry, "other": "/registry/"})
	as := func(user string) *genericoptions.EtcdOptions {
		options, files := newOptions(t, etcd.Endpoints()...), users.Of(t, user)
		connection := &options.StorageConfig.Transport
		connection.CertFile, connection.KeyFile, connection.TrustedCAFile = files.CertFile, files.KeyFile, files.TrustedCAFile
		options.StorageConfig.CompactionInterval = 0
		return options
	}

	for _, cached := range []bool{false, true} {
		t.Run(fmt.Sprintf("cached=%t", cached), func(t *testing.T) {
			options := as("groundskeeper")
			options.EnableWatchCache = cached
			works(t, openForSuite(t, options, byNode(), storage.NamespaceKeyFunc))
		})
	}
	t.Run("compaction", func(t *testing.T) {
		client, err := NewClient(t.Context(), as("groundskeeper").StorageConfig.Transport)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		if _, err := client.Compact(t.Context(), 2); !errors.Is(err, rpctypes.ErrPermissionDenied) {
			t.Errorf("compact: error = %v, want %v", err, rpctypes.ErrPermissionDenied)
		}
	})
	t.Run("another user", func(t *testing.T) {
		options := as("other")
		options.EnableWatchCache = false
		s := openForSuite(t, options, byNode(), storage.NamespaceKeyFunc)
		for what, err := range map[string]error{
			"create": s.Create(t.Context(), "/pods/default/a", newPod("a", ""), &example.Pod{}, 0),
			"get":    s.Get(t.Context(), "/pods/default/a", storage.GetOptions{}, &example.Pod{}),
			"list":   s.GetList(t.Context(), "/pods/", storage.ListOptions{Recursive: true, Predicate: storage.Everything}, &example.PodList{}),
		} {
			if !errors.Is(err, rpctypes.ErrPermissionDenied) {
				t.Errorf("%s: error = %v, want %v", what, err, rpctypes.ErrPermissionDenied)
			}
		}
	})
}

// works checks that a storage writes, reads what it has written, lists, watches, deletes, and reserves names.
func works(t *testing.T, s storage.Interface) {
	t.Helper()
	before := &example.PodList{}
	if err := s.GetList(t.Context(), "/pods/", storage.ListOptions{Recursive: true, Predicate: storage.Everything}, before); err != nil {
		t.Fatal(err)
	}
	// Not from any moment: below the cache, a watch begins after it was returned.
	changes, err := s.Watch(t.Context(), "/pods/", storage.ListOptions{
		ResourceVersion: before.ResourceVersion, Recursive: true, Predicate: storage.Everything,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	for i := range 12 {
		name := fmt.Sprintf("p%d", i)
		key, pod := "/pods/default/"+name, newPod(name, "node-of-"+name)
		pod.Namespace = "default"
		if err := s.Create(t.Context(), key, pod, &example.Pod{}, 0); err != nil {
			t.Fatalf("create %s: %v", name, err)
		}
		second := newPod("second", "node-of-"+name)
		if err := s.Create(t.Context(), "/pods/default/second", second, &example.Pod{}, 0); !apierrors.IsForbidden(err) {
			t.Errorf("create another object with the name of %s: error = %v, want Forbidden", name, err)
		}
		found := &example.PodList{}
		if err := s.GetList(t.Context(), "/pods/", storage.ListOptions{Recursive: true, Predicate: storage.Everything}, found); err != nil || len(found.Items) != 1 {
			t.Errorf("list after the creation of %s = %d objects, %v, want 1", name, len(found.Items), err)
		}
		if err := s.Delete(t.Context(), key, &example.Pod{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}); err != nil {
			t.Fatalf("delete %s: %v", name, err)
		}
		for _, want := range []string{"ADDED", "DELETED"} {
			event := next(t, changes)
			for strings.HasPrefix(nameOf(t, event), leftover) { // a cache that was late
				event = next(t, changes)
			}
			if got := nameOf(t, event); string(event.Type) != want || got != name {
				t.Fatalf("event = %s of %s, want %s of %s", event.Type, got, want, name)
			}
		}
	}
}

func next(t *testing.T, changes watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, open := <-changes.ResultChan():
		if !open {
			t.Fatal("the watch ended")
		}
		return event
	case <-t.Context().Done():
		t.Fatal("no event")
		return watch.Event{}
	}
}

func nameOf(t *testing.T, event watch.Event) string {
	t.Helper()
	object, err := meta.Accessor(event.Object)
	if err != nil {
		t.Fatalf("event = %s %v: %v", event.Type, event.Object, err)
	}
	return object.GetName()
}

// TestSlowMemberOfEtcd checks that one of three members that responds late, and is far behind, makes no request fail and no list old,
// whether the watch cache watches this member or another one.
func TestSlowMemberOfEtcd(t *testing.T) {
	endpoints := etcdtest.RunCluster(t, 3)
	for slow := range endpoints {
		for _, cached := range []bool{false, true} {
			t.Run(fmt.Sprintf("slow=%d/cached=%t", slow, cached), func(t *testing.T) {
				t.Parallel()
				member := newProxy(t, endpoints[slow])
				options := newOptions(t, slices.Replace(slices.Clone(endpoints), slow, slow+1, member.address)...)
				options.StorageConfig.Prefix = fmt.Sprintf("/%d-%t", slow, cached)
				options.EnableWatchCache = cached
				s := openForSuite(t, options, byNode(), storage.NamespaceKeyFunc)
				member.use(t, s)
				member.slow.Store(true)
				works(t, s)
				if member.delayed.Load() == 0 {
					t.Error("no response of the slow member was used")
				}
			})
		}
	}
}

// TestFrozenMemberOfEtcd checks that one of three members that does not respond any more, while its connections stand, keeps no request
// waiting for longer than clients wait, and that everything works as soon as it was noticed, also for a server that starts meanwhile.
func TestFrozenMemberOfEtcd(t *testing.T) {
	endpoints := etcdtest.RunCluster(t, 3)
	for _, cached := range []bool{false, true} {
		t.Run(fmt.Sprintf("cached=%t", cached), func(t *testing.T) {
			t.Parallel()
			member := newProxy(t, endpoints[0])
			options := newOptions(t, append([]string{member.address}, endpoints[1:]...)...)
			options.StorageConfig.Prefix = fmt.Sprintf("/frozen-%t", cached)
			options.EnableWatchCache = cached
			options.StorageConfig.CompactionInterval = 0 // the compactor's client notices with its own next request
			s := openForSuite(t, options, byNode(), storage.NamespaceKeyFunc)
			member.use(t, s)
			member.frozen.Store(true)
			endures(t, s, member)
			if member.discarded.Load() == 0 {
				t.Error("no request was sent to the frozen member")
			}
			works(t, s)
			works(t, openForSuite(t, options, byNode(), storage.NamespaceKeyFunc))
		})
	}
}

// leftover is the beginning of the names of what endures creates.
const leftover = "frozen-"

// endures sends reads and writes to all members until the client has noticed that one is frozen, which ends its connection: each has a
// response within the time that clients wait, which at worst tells them to read again, or that the outcome of the write is unknown. It
// leaves no objects.
func endures(t *testing.T, s storage.Interface, frozen *proxy) {
	t.Helper()
	const each = 6 // several per member
	key := func(i int) string { return "/pods/default/" + leftover + strconv.Itoa(i) }
	created := 0
	for created == 0 || frozen.standing.Load() > 0 {
		var requests sync.WaitGroup
		send := func(what string, mayFail func(error) bool, request func(ctx context.Context) error) {
			requests.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				if err := request(ctx); err != nil && !mayFail(err) {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		for i := created; i < created+each; i++ {
			send("list", apierrors.IsServiceUnavailable, func(ctx context.Context) error {
				return s.GetList(ctx, "/pods/", storage.ListOptions{Recursive: true, Predicate: storage.Everything}, &example.PodList{})
			})
			send("create", apierrors.IsTimeout, func(ctx context.Context) error {
				pod := newPod(leftover+strconv.Itoa(i), "")
				pod.Namespace = "default"
				return s.Create(ctx, key(i), pod, &example.Pod{}, 0)
			})
		}
		requests.Wait()
		created += each
	}
	for i := range created {
		err := s.Delete(t.Context(), key(i), &example.Pod{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
		if err != nil && !storage.IsNotFound(err) {
			t.Errorf("delete %s: %v", key(i), err)
		}
	}
}

// proxy passes on what a member of etcd and its clients send.
type proxy struct {
	address string
	// slow delays each response. frozen passes on nothing more, like a process that was stopped, whose connections stand.
	slow, frozen               atomic.Bool
	passed, delayed, discarded atomic.Int64
	// standing counts the connections that were made before it froze and that the client has not ended.
	standing atomic.Int64
}

func newProxy(t *testing.T, member string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &proxy{address: "http://" + l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			server, err := net.Dial("tcp", strings.TrimPrefix(member, "http://"))
			if err != nil {
				_ = client.Close()
				continue
			}
			t.Cleanup(func() { _, _ = client.Close(), server.Close() })
			counted := int64(1)
			if p.frozen.Load() {
				counted = 0
			}
			p.standing.Add(counted)
			go func() {
				p.request(server, client)
				p.standing.Add(-counted)
			}()
			go p.respond(client, server)
		}
	}()
	return p
}

// use sends requests until the member has responded to some: a client uses it only from the moment on at which it is connected, and
// what it passes on first greets the client.
func (p *proxy) use(t *testing.T, s storage.Interface) {
	t.Helper()
	const greeting = 5 // settings and acknowledgements, at most
	for p.passed.Load() <= greeting {
		works(t, s)
	}
}

// request passes on requests until one of the two ends.
func (p *proxy) request(server io.Writer, client io.Reader) {
	data := make([]byte, 64<<10)
	for {
		n, err := client.Read(data)
		if err != nil {
			return
		}
		if p.frozen.Load() {
			p.discarded.Add(1)
			continue
		}
		if _, err := server.Write(data[:n]); err != nil {
			return
		}
	}
}

// respond passes on responses until one of the two ends.
func (p *proxy) respond(client io.Writer, server io.Reader) {
	data := make([]byte, 64<<10)
	for {
		n, err := server.Read(data)
		if err != nil {
			return
		}
		if p.frozen.Load() {
			continue
		}
		if p.slow.Load() {
			<-time.After(100 * time.Millisecond)
			p.delayed.Add(1)
		}
		if _, err := client.Write(data[:n]); err != nil {
			return
		}
		p.passed.Add(1)
	}
}
