// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// fill creates n Projects. Of the first three vera is a viewer, and users 0 to 999 are viewers of one after the other.
func (m members) fill(b *testing.B, n int) {
	b.Helper()
	numbers := make(chan int)
	var creators sync.WaitGroup
	for range 16 {
		creators.Go(func() {
			for i := range numbers {
				with := []gardenerv1beta1.ProjectMember{newMember(fmt.Sprint("admin-", i), "admin"), newMember(fmt.Sprint("user-", i%1000), "viewer"), groupOf(fmt.Sprint("team-", i%50), "viewer")}
				if i < 3 {
					with = append(with, newMember("vera", "viewer"))
				}
				m.create(b, fmt.Sprintf("p%06d", i), with...)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	creators.Wait()
	m.caughtUp(b)
}

// cpu returns the time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkMembership is the cost of a decision about one of n Projects, of a list of three of them, and of a watch that begins with
// these.
func BenchmarkMembership(b *testing.B) {
	sizes := []int{10, 1000, 10000, 100000}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, n := range sizes {
		m := newMembers(b)
		m.fill(b, n)
		groups := []string{"a", "b", "c"}
		b.Run(fmt.Sprintf("authorize/%d", n), func(b *testing.B) {
			request := authorizer.AttributesRecord{
				User: &user.DefaultInfo{Name: "vera", Groups: groups}, Verb: "get", APIGroup: "core.gardener.cloud", APIVersion: "v1beta1",
				Resource: "projects", Name: "p000001", ResourceRequest: true,
			}
			b.ReportAllocs()
			for b.Loop() {
				if decision, _, err := m.authorizer.Authorize(b.Context(), request); decision != authorizer.DecisionAllow || err != nil {
					b.Fatal(decision, err)
				}
			}
		})
		for name, version := range map[string]string{"list": "0", "list-latest": ""} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				ctx := request(b, "vera", "list", "", groups...)
				b.ReportAllocs()
				for b.Loop() {
					if found, err := m.List(ctx, &internalversion.ListOptions{ResourceVersion: version}); err != nil || len(found.(*gardenerv1beta1.ProjectList).Items) != 3 {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("watch/%d", n), func(b *testing.B) {
			ctx := request(b, "vera", "watch", "", groups...)
			b.ReportAllocs()
			for b.Loop() {
				w, err := m.Watch(ctx, &internalversion.ListOptions{ResourceVersion: "0", SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
				if err != nil {
					b.Fatal(err)
				}
				for range 3 {
					<-w.ResultChan()
				}
				w.Stop()
			}
		})
	}
}

// BenchmarkMembershipWatches is the cost of a change of one of n Projects while members watch, until the member of it has the event. The
// time includes the write; the CPU of a change without watches is that of the write.
func BenchmarkMembershipWatches(b *testing.B) {
	sizes := []int{1000, 10000}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		m := newMembers(b)
		m.fill(b, n)
		for _, watches := range []int{1, 100, 1000} {
			b.Run(fmt.Sprintf("projects=%d/watches=%d", n, watches), func(b *testing.B) {
				version := m.caughtUp(b)
				var others sync.WaitGroup
				var all []watch.Interface
				for i := range watches {
					ctx := request(b, fmt.Sprint("user-", i), "watch", "", "a", "b", "c")
					w, err := m.Watch(ctx, &internalversion.ListOptions{ResourceVersion: version})
					if err != nil {
						b.Fatal(err)
					}
					if all = append(all, w); i == 0 {
						continue
					}
					others.Go(func() {
						for event := range w.ResultChan() {
							b.Errorf("an event of a project of another user: %v", event.Type)
						}
					})
				}
				started := cpu(b)
				for i := 0; b.Loop(); i++ {
					if err := m.change(b, "root", "p000000", func(p *gardenerv1beta1.Project) { p.Spec.Description = new(fmt.Sprint(i)) }); err != nil {
						b.Fatal(err)
					}
					<-all[0].ResultChan()
				}
				b.ReportMetric(float64((cpu(b)-started).Microseconds())/float64(b.N), "cpu-µs/op")
				for _, w := range all {
					w.Stop()
				}
				others.Wait()
			})
		}
		b.Run(fmt.Sprintf("projects=%d/reconnect=1000", n), func(b *testing.B) {
			started := cpu(b)
			for b.Loop() {
				m.reconnect(b, n)
			}
			b.ReportMetric(float64((cpu(b)-started).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// reconnect begins a watch for each of 1000 members, as when a server has started, and waits until each has its Projects.
func (m members) reconnect(b *testing.B, n int) {
	b.Helper()
	var clients sync.WaitGroup
	for i := range 1000 {
		clients.Go(func() {
			w, err := m.Watch(request(b, fmt.Sprint("user-", i), "watch", ""), &internalversion.ListOptions{
				SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
			})
			if err != nil {
				b.Error(err)
				return
			}
			defer w.Stop()
			for range n / 1000 {
				<-w.ResultChan()
			}
		})
	}
	clients.Wait()
}
