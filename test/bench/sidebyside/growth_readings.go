// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"groundskeeper.io/groundskeeper/test/plane"
)

// pageSize is that of kubectl and of most clients.
const pageSize = 500

// reading is a way to get all objects of a namespace.
type reading struct {
	name string
	of   func(ctx context.Context, c *contender, client *client, space string, objects int) error
}

func readings() []reading {
	return []reading{
		{fmt.Sprintf("a list in pages of %d", pageSize), inPages},
		{"a list without pages", inOne},
		{"a watch until its last initial event", watched},
	}
}

// reads measures readings by one client.
func (c *contender) reads(ctx context.Context, p *plane.Plane, times int, read func(context.Context, *client) error) (run, error) {
	clients, err := c.clients(1)
	if err != nil {
		return run{}, err
	}
	defer closeAll(clients)
	return measured(ctx, clients, 1, times+1, append([]*plane.Process{p.Etcd}, c.processes...), func(ctx context.Context, client *client, _ int) error {
		return read(ctx, client)
	})
}

// inPages requests page after page. It names no version: with "any" (0), a server with a cache ignores the limit. The first page is
// as of now, and those behind it of the same moment, all from the cache.
func inPages(ctx context.Context, c *contender, client *client, space string, objects int) error {
	path, pages := fmt.Sprintf("%s?limit=%d", c.collection(space), pageSize), 0
	for next := path; next != ""; pages++ {
		response, err := client.do(ctx, request{method: "GET", path: next})
		if err != nil {
			return err
		}
		token, err := continueOf(response)
		if err != nil {
			return err
		}
		if next = ""; token != "" {
			next = path + "&continue=" + url.QueryEscape(token)
		}
	}
	if want := (objects + pageSize - 1) / pageSize; pages != want {
		return fmt.Errorf("%d objects came in %d pages, not %d", objects, pages, want)
	}
	return nil
}

// continueOf reads where a list continues, "" for nowhere, and nothing else of it: clients are not what is measured.
func continueOf(response []byte) (string, error) {
	if bytes.HasPrefix(response, []byte("{")) {
		_, behind, found := bytes.Cut(response, []byte(`"continue":"`))
		token, _, ended := bytes.Cut(behind, []byte(`"`))
		if found && !ended {
			return "", errors.New("a list ends in the middle")
		}
		return string(token), nil
	}
	magic := []byte("k8s\x00")
	if !bytes.HasPrefix(response, magic) {
		return "", errors.New("a response is neither JSON nor protobuf")
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(response[len(magic):]); err != nil {
		return "", err
	}
	// The metadata are the first field of a list.
	const metadata = 1<<3 | 2
	if len(envelope.Raw) < 2 || envelope.Raw[0] != metadata {
		return "", errors.New("a list does not begin with its metadata")
	}
	length, n := binary.Uvarint(envelope.Raw[1:])
	if n <= 0 || length > uint64(len(envelope.Raw)-1-n) {
		return "", errors.New("a list ends in the middle")
	}
	var meta metav1.ListMeta
	err := meta.Unmarshal(envelope.Raw[1+n:][:length])
	return meta.Continue, err
}

// inOne requests all concurrently, from the cache.
func inOne(ctx context.Context, c *contender, client *client, space string, _ int) error {
	response, err := client.send(ctx, request{method: "GET", path: c.collection(space) + "?resourceVersion=0"})
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// initialEvents requests a watch with initial events.
const initialEvents = "?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=300"

// watched watches until the bookmark that ends the initial events.
func watched(ctx context.Context, c *contender, client *client, space string, objects int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := client.send(ctx, request{method: "GET", path: c.collection(space) + initialEvents})
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	frames, events := bufio.NewReaderSize(response.Body, 64<<10), 0
	for ; ; events++ {
		frame, err := c.frame(frames)
		if err != nil {
			return fmt.Errorf("after %d of %d events: %w", events, objects, err)
		}
		if bytes.Contains(frame, []byte(metav1.InitialEventsAnnotationKey)) {
			break
		}
	}
	if events != objects {
		return fmt.Errorf("a watch began with %d objects, not %d", events, objects)
	}
	return nil
}

// frame reads one event, which is valid until the next one is read.
func (c *contender) frame(frames *bufio.Reader) ([]byte, error) {
	if c.media == typeJSON {
		return frames.ReadSlice('\n')
	}
	const head = 4
	length, err := frames.Peek(head)
	if err != nil {
		return nil, err
	}
	size := head + int(binary.BigEndian.Uint32(length))
	frame, err := frames.Peek(size)
	if err != nil {
		return nil, err
	}
	_, err = frames.Discard(size)
	return frame, err
}
