// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"

	"groundskeeper.io/groundskeeper/pkg/registry/etcd/etcdtest"
)

// counting adds up how many keys etcd had to visit.
type counting struct {
	clientv3.KV
	visited int64
	streams int
	// behind, unless nil, is called when a request was answered.
	behind func()
}

func (c *counting) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	response, err := c.KV.Get(ctx, key, opts...)
	if err == nil {
		c.visited += response.Count
	}
	if c.behind != nil {
		c.behind()
	}
	return response, err
}

func (c *counting) GetStream(ctx context.Context, key string, opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	c.streams++
	return c.KV.GetStream(ctx, key, opts...)
}

// listing is what pages had.
type listing struct {
	keys      []string
	remaining []int64 // behind each page, as the store works it out
	revision  int64
}

// walk reads all pages as the library's store does, at the revision of the first one, and calls between after each.
func walk(t *testing.T, client kubernetes.Interface, prefix string, limit int64, between func()) (all listing) {
	t.Helper()
	opts := kubernetes.ListOptions{Limit: limit}
	for {
		page, err := client.List(t.Context(), prefix, opts)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(page.Kvs)) > limit {
			t.Fatalf("a page of %d has %d", limit, len(page.Kvs))
		}
		all.keys = append(all.keys, keysIn(page)...)
		if opts.Revision == 0 {
			opts.Revision, all.revision = page.Revision, page.Revision
		}
		if int64(len(page.Kvs)) >= page.Count {
			return all
		}
		if len(page.Kvs) == 0 {
			t.Fatal("an empty page says that there is more: the store takes that for an error")
		}
		all.remaining = append(all.remaining, page.Count-limit)
		opts.Continue = all.keys[len(all.keys)-1] + "\x00"
		between()
	}
}

func put(t *testing.T, client *kubernetes.Client, keys ...string) {
	t.Helper()
	for len(keys) > 0 {
		n := min(len(keys), 100)
		var puts []clientv3.Op
		for _, key := range keys[:n] {
			puts = append(puts, clientv3.OpPut(key, "v"))
		}
		if _, err := client.Txn(t.Context()).Then(puts...).Commit(); err != nil {
			t.Fatal(err)
		}
		keys = keys[n:]
	}
}

func keysOf(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s%06d", prefix, i)
	}
	return keys
}

// A listing in pages is to cost as much as its objects: etcd visits all that is behind a page for it otherwise.
func TestPagesDoNotCountWhatIsBehind(t *testing.T) {
	client := etcdtest.Run(t)
	const n, limit = 20000, 500
	put(t, client, keysOf("/a/", n)...)
	kv := &counting{KV: client.KV}
	p := through(newPaged(kv))
	none := func() {}
	first := walk(t, p, "/a/", limit, none)
	if len(first.keys) != n {
		t.Fatalf("%d keys", len(first.keys))
	}
	for _, test := range []struct{ limit, most int64 }{
		{limit, 2*n + limit}, // the first page is that of the watch cache in a server
		{limit, 2*n + limit},
		{333, 4*n + limit},
		{1700, 3*n + limit},
	} {
		kv.visited = 0
		again := walk(t, p, "/a/", test.limit, none)
		if diff := cmp.Diff(first.keys, again.keys); diff != "" {
			t.Errorf("pages of %d: %s", test.limit, diff)
		}
		if got := kv.visited; got > test.most {
			t.Errorf("etcd visited %d keys for %d in pages of %d, not %d at most", got, n, test.limit, test.most)
		}
		for i, remaining := range again.remaining {
			if want := int64(n) - int64(i+1)*test.limit; remaining != want {
				t.Errorf("page %d of %d: %d remain, not %d", i, test.limit, remaining, want)
			}
		}
	}
}

// Whatever was written since a place was remembered, pages have what etcd has at their revision.
func TestPagesAreThoseOfEtcd(t *testing.T) {
	client := etcdtest.Run(t)
	plain := kubernetes.Client{Client: client.Client}
	remembering := newPaged(client.KV)
	p := through(remembering)
	random := rand.New(rand.NewPCG(1, 2))
	put(t, client, keysOf("/b/a/", 4000)...)
	put(t, client, "/b0/other", "/a/other")
	change := func() {
		at := fmt.Sprintf("/b/%c/%06d", 'a'+rune(random.IntN(3)), random.IntN(4000))
		switch random.IntN(6) {
		case 0:
			keys := keysOf(at+"/", random.IntN(900))
			put(t, client, keys...)
		case 1:
			put(t, client, at)
		case 2:
			end := at[:len("/b/a/")] + fmt.Sprintf("%06d", random.IntN(6000))
			if end > at {
				if _, err := client.Delete(t.Context(), at, clientv3.WithRange(end)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for range 60 {
		prefix := []string{"/b/", "/b/a/", "/b/b/"}[random.IntN(3)]
		got := walk(t, p, prefix, int64(1+random.IntN(900)), change)
		page, err := plain.List(t.Context(), prefix, kubernetes.ListOptions{Revision: got.revision})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(keysIn(page), got.keys); diff != "" {
			t.Fatalf("%s at %d: %s", prefix, got.revision, diff)
		}
	}
	for end, all := range remembering.marks {
		for i, m := range all {
			if m.key >= end || i > 0 && (all[i-1].key >= m.key || all[i-1].behind < m.behind) {
				t.Errorf("up to %s: mark %d is %v", end, i, all)
				break
			}
		}
	}
}

// A page without a revision has that of its first part, also when somebody writes before the second one is read.
func TestPagesHaveOneRevision(t *testing.T) {
	client := etcdtest.Run(t)
	keys := keysOf("/d/", 5000)
	put(t, client, keys...)
	plain := kubernetes.Client{Client: client.Client}
	kv := &counting{KV: client.KV}
	p := through(newPaged(kv))
	walk(t, p, "/d/", 500, func() {})
	if _, err := client.Delete(t.Context(), keys[600], clientv3.WithRange(keys[900])); err != nil {
		t.Fatal(err)
	}
	written := false
	kv.behind = func() {
		kv.behind, written = nil, true
		if _, err := client.Delete(t.Context(), keys[1100]); err != nil {
			t.Error(err)
		}
	}
	opts := kubernetes.ListOptions{Limit: 500, Continue: keys[499] + "\x00"}
	got, err := p.List(t.Context(), "/d/", opts)
	if err != nil || !written {
		t.Fatal(written, err)
	}
	opts.Revision = got.Revision
	want, err := plain.List(t.Context(), "/d/", opts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(keysIn(want), keysIn(got)); diff != "" {
		t.Errorf("at revision %d: %s", got.Revision, diff)
	}
}

func keysIn(page kubernetes.ListResponse) (keys []string) {
	for _, kv := range page.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}

// Pages of a revision that is gone, or of one that is not there yet, fail as etcd says.
func TestPagesFail(t *testing.T) {
	client := etcdtest.Run(t)
	put(t, client, keysOf("/c/", 3000)...)
	plain := kubernetes.Client{Client: client.Client}
	remembering := newPaged(client.KV)
	p := through(remembering)
	whole := walk(t, p, "/c/", 500, func() {})
	if len(remembering.marks["/c0"]) == 0 {
		t.Fatal("no marks")
	}
	if _, err := client.Compact(t.Context(), whole.revision); err != nil {
		t.Fatal(err)
	}
	for _, revision := range []int64{whole.revision - 1, whole.revision + 100} {
		opts := kubernetes.ListOptions{Limit: 500, Continue: whole.keys[499] + "\x00", Revision: revision}
		_, want := plain.List(t.Context(), "/c/", opts)
		_, got := p.List(t.Context(), "/c/", opts)
		if want == nil || got == nil || want.Error() != got.Error() {
			t.Errorf("revision %d: %v, not %v", revision, got, want)
		}
	}
}

// A new mark goes before older ones that it contradicts, and what is remembered is bounded.
func TestMarks(t *testing.T) {
	for name, test := range map[string]struct {
		all  marks
		add  mark
		want marks
	}{
		"the first":           {nil, mark{"b", 2000}, marks{{"b", 2000}}},
		"between":             {marks{{"a", 3000}, {"c", 1000}}, mark{"b", 2000}, marks{{"a", 3000}, {"b", 2000}, {"c", 1000}}},
		"the same again":      {marks{{"a", 3000}, {"b", 2000}}, mark{"b", 2100}, marks{{"a", 3000}, {"b", 2100}}},
		"near the one before": {marks{{"a", 3000}}, mark{"b", 2900}, marks{{"a", 3000}}},
		"near the one behind": {marks{{"c", 2800}}, mark{"b", 2900}, marks{{"c", 2800}}},
		"there is more now":   {marks{{"a", 3000}, {"c", 1000}}, mark{"b", 9000}, marks{{"b", 9000}, {"c", 1000}}},
		"there is less now":   {marks{{"a", 9000}, {"c", 7000}}, mark{"b", 2000}, marks{{"a", 9000}, {"b", 2000}}},
	} {
		if diff := cmp.Diff(test.want, test.all.with(test.add), cmp.AllowUnexported(mark{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	p := newPaged(nil)
	for i := range 3 * mostListings {
		p.remember(fmt.Sprint("/", i), pageTo("k", 5000))
	}
	if n := len(p.marks); n > mostListings {
		t.Errorf("marks of %d listings", n)
	}
	for i := range 2 * mostMarks {
		p.remember("/", pageTo(fmt.Sprintf("%08d", i), int64(2*mostMarks-i)*markEvery+markedFrom))
	}
	if n := len(p.marks["/"]); n > mostMarks {
		t.Errorf("%d marks", n)
	}
	p.remember("/few", pageTo("k", markedFrom))
	if _, found := p.marks["/few"]; found {
		t.Error("a mark with few keys behind it")
	}
}

// pageTo is a page with one key, the first one of so many.
func pageTo(key string, count int64) *clientv3.GetResponse {
	return &clientv3.GetResponse{Kvs: []*mvccpb.KeyValue{{Key: []byte(key)}}, Count: count}
}

// through is a client that asks etcd through kv.
func through(kv clientv3.KV) kubernetes.Client {
	return kubernetes.Client{Client: &clientv3.Client{KV: kv}}
}

// The library's store asks for pages by a stream, too: it ends with the page.
func TestPagesAsStreams(t *testing.T) {
	client := etcdtest.Run(t)
	put(t, client, keysOf("/e/", 3000)...)
	kv := &counting{KV: client.KV}
	p := newPaged(kv)
	walk(t, through(p), "/e/", 500, func() {})
	read := func(from string, opts ...clientv3.OpOption) *clientv3.GetResponse {
		t.Helper()
		stream, err := p.GetStream(t.Context(), from, append(opts, clientv3.WithRange("/e0"))...)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := clientv3.GetStreamToGetResponse(stream)
		if err != nil {
			t.Fatal(err)
		}
		return whole
	}
	kv.visited = 0
	page := read("/e/000499\x00", clientv3.WithLimit(500))
	if len(page.Kvs) != 500 || string(page.Kvs[0].Key) != "/e/000500" || !page.More || page.Count != 2500 || page.Header.Revision == 0 {
		t.Errorf("%d keys, more: %t, of %d", len(page.Kvs), page.More, page.Count)
	}
	if kv.visited > 1000 {
		t.Errorf("etcd visited %d keys for a page of 500", kv.visited)
	}
	if last := read("/e/002799\x00", clientv3.WithLimit(500)); len(last.Kvs) != 200 || last.More || last.Count != 200 {
		t.Errorf("the last page has %d keys, more: %t, of %d", len(last.Kvs), last.More, last.Count)
	}
	if whole := read("/e/"); len(whole.Kvs) != 3000 || whole.More {
		t.Errorf("all are %d keys, more: %t", len(whole.Kvs), whole.More)
	}
	if many := read("/e/000499\x00", clientv3.WithLimit(mostOfPage)); len(many.Kvs) != 2500 || kv.streams != 1 {
		t.Errorf("a page that may have %d keys has %d; %d streams, not that of all alone", mostOfPage, len(many.Kvs), kv.streams)
	}
	if more := read("/e/000499\x00", clientv3.WithLimit(mostOfPage+1)); len(more.Kvs) != 2500 || kv.streams != 2 {
		t.Errorf("%d keys with a limit above that of pages, in %d streams", len(more.Kvs), kv.streams)
	}
	for name, opt := range map[string]clientv3.OpOption{
		"keys only": clientv3.WithKeysOnly(), "a count only": clientv3.WithCountOnly(), "the last keys": clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend),
	} {
		opts := []clientv3.OpOption{clientv3.WithRange("/e0"), clientv3.WithLimit(2), opt}
		want, err := client.KV.Get(t.Context(), "/e/000499\x00", opts...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Get(t.Context(), "/e/000499\x00", opts...)
		if diff := cmp.Diff(fmt.Sprint(want.Kvs, want.Count), fmt.Sprint(got.Kvs, got.Count)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	gone, err := client.Put(t.Context(), "/other", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(t.Context(), gone.Header.Revision); err != nil {
		t.Fatal(err)
	}
	if _, err := p.GetStream(t.Context(), "/e/", clientv3.WithRange("/e0"), clientv3.WithLimit(5), clientv3.WithRev(1)); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("a revision that is gone: %v", err)
	}
}
