// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"slices"
	"strings"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// mostOfPage is how many objects a page may have, the library's own limit: more of them are better streamed in pieces.
	mostOfPage = 10000
	// markedFrom is how many keys have to be behind a page to remember where it ended: fewer are counted in no time.
	markedFrom = 1000
	// markEvery is how many keys there are between two marks at least: as many as kubectl asks for at a time.
	markEvery = 500
	// mostListings is of how many listings marks are kept: of all objects, and of those of namespaces. Beyond it all are
	// forgotten.
	mostListings = 100
	// mostMarks bounds the marks of one listing, likewise.
	mostMarks = 10000
)

// paged reads pages of listings. For each page etcd visits all keys of the range that it is asked for, to tell how many there
// are; with ranges up to the end of a listing, n objects in pages cost n². paged remembers where pages ended, and asks for a
// range up to there: for less than twice the objects of the page. What it answers is what etcd has at the revision of the page;
// only how many keys are behind it is, then, what was true when the place was remembered.
//
// It is safe for concurrent use.
type paged struct {
	clientv3.KV

	mu    sync.Mutex
	marks map[string]marks // by the end of the listing
}

func newPaged(next clientv3.KV) *paged { return &paged{KV: next, marks: map[string]marks{}} }

// Get implements clientv3.KV.
func (p *paged) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if op := clientv3.OpGet(key, opts...); isPage(op) {
		return p.page(ctx, op)
	}
	return p.KV.Get(ctx, key, opts...)
}

// GetStream implements clientv3.KV. A page comes in one piece: a stream of it would end with the same count.
func (p *paged) GetStream(ctx context.Context, key string, opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	op := clientv3.OpGet(key, opts...)
	if !isPage(op) {
		return p.KV.GetStream(ctx, key, opts...)
	}
	page, err := p.page(ctx, op)
	if err != nil {
		return nil, err
	}
	stream := make(chan clientv3.RangeStreamResponse, 1)
	stream <- clientv3.RangeStreamResponse{RangeResponse: (*pb.RangeResponse)(page)}
	close(stream)
	return stream, nil
}

// isPage tells the library's requests for a page of objects: a key, an end, a limit that is not too high, and perhaps a revision.
func isPage(op clientv3.Op) bool {
	return op.Limit() > 0 && op.Limit() <= mostOfPage && len(op.RangeBytes()) > 0 && !op.IsCountOnly() && !op.IsKeysOnly() && !op.IsSerializable() && !op.IsSortSet() &&
		op.MinModRev() == 0 && op.MaxModRev() == 0 && op.MinCreateRev() == 0 && op.MaxCreateRev() == 0
}

// page reads from a key until the page is full or the listing ends.
func (p *paged) page(ctx context.Context, op clientv3.Op) (*clientv3.GetResponse, error) {
	from, end, limit, revision := string(op.KeyBytes()), string(op.RangeBytes()), op.Limit(), op.Rev()
	first := clientv3.GetPrefixRangeEnd(from) == end // with it, everything is counted anew
	var page *clientv3.GetResponse
	for {
		wanted := limit
		if page != nil {
			wanted -= int64(len(page.Kvs))
		}
		until := mark{key: end}
		if !first {
			until = p.until(from, end, wanted)
		}
		part, err := p.KV.Get(ctx, from, clientv3.WithRange(until.key), clientv3.WithLimit(wanted), clientv3.WithRev(revision))
		if err != nil {
			return nil, err
		}
		part.Count += until.behind
		part.More = part.More || until.behind > 0
		if page == nil {
			page = part
		} else {
			page.Count = int64(len(page.Kvs)) + part.Count
			page.Kvs, page.More = append(page.Kvs, part.Kvs...), part.More
		}
		if int64(len(page.Kvs)) == limit || until.key == end {
			p.remember(end, page)
			return page, nil
		}
		// There is less than there was. The rest of the page is behind the mark, at the same revision.
		p.forget(end, until)
		from = until.key
		if revision == 0 {
			revision = page.Header.Revision
		}
	}
}

// until returns the first mark that had enough keys between the beginning of a page and itself, or the end of the listing.
func (p *paged) until(from, end string, wanted int64) mark {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.marks[end]
	if first, _ := all.find(from); first < len(all) {
		for _, m := range all[first:] {
			if all[first].behind-m.behind >= wanted {
				return m
			}
		}
	}
	return mark{key: end}
}

// remember marks where a page ended.
func (p *paged) remember(end string, page *clientv3.GetResponse) {
	behind := page.Count - int64(len(page.Kvs))
	if len(page.Kvs) == 0 || behind < markedFrom {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all, known := p.marks[end]
	if !known && len(p.marks) >= mostListings {
		clear(p.marks)
	}
	if len(all) >= mostMarks {
		all = nil
	}
	p.marks[end] = all.with(mark{string(page.Kvs[len(page.Kvs)-1].Key) + "\x00", behind})
}

// forget takes a mark away.
func (p *paged) forget(end string, m mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marks[end] = slices.DeleteFunc(p.marks[end], func(other mark) bool { return other.key == m.key })
}

// mark is a place between keys: those behind it are key and what sorts after that.
type mark struct {
	key string
	// behind is how many keys of the listing were behind it.
	behind int64
}

// marks are sorted by key.
type marks []mark

// find returns the position of the first mark that is not before a key, and whether it is at that key.
func (all marks) find(key string) (int, bool) {
	return slices.BinarySearchFunc(all, key, func(m mark, key string) int { return strings.Compare(m.key, key) })
}

// with adds a mark, unless there is one nearby. Older ones that cannot be true any longer are taken away: those before it
// with fewer keys behind them, and those behind it with more.
func (all marks) with(m mark) marks {
	all = slices.DeleteFunc(all, func(other mark) bool {
		return other.key < m.key && other.behind < m.behind || other.key > m.key && other.behind > m.behind
	})
	i, found := all.find(m.key)
	if found {
		all[i] = m
		return all
	}
	if i > 0 && all[i-1].behind-m.behind < markEvery || i < len(all) && m.behind-all[i].behind < markEvery {
		return all
	}
	return slices.Insert(all, i, m)
}
