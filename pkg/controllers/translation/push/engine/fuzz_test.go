// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// FuzzPush parses Claims from text and pushes them, to check that no content ends the process or makes it loop indefinitely.
//
// Each line has a command, a Claim, and for items kind, parent and body.
func FuzzPush(f *testing.F) {
	f.Add("put a Box  {\"id\":\"b\",\"v\":1}\nput a Port b {\"id\":\"p\",\"needs\":[\"Port/p\",\"Link/\"],\"slots\":[\"s\",\"s\"]}\ndelete a\ndrift\n")
	f.Add("put a Rule t {\"id\":\"r\"}\nput b Table  {\"id\":\"t\",\"needs\":[\"Rule/r\"]}\nput b Table  {\"id\":\"t\"}\nrestart\ndrift\ndelete b\n")
	f.Add("put a Link p {\"alias\":\"x\",\"needs\":[\"x\",\"y\",\"/\"]}\nput a Plug h {\"id\":\"h\",\"slots\":[\"\",\"x\"],\"alias\":\"y\"}\npushed a Rule t r Failed 00\nrestart\n")
	f.Add("put a Box  {broken\nput a  \nput a Ghost x y\nput a Port b {\"id\":\"b\",\"needs\":[\"Box/b\"]}\npushed a Port  x Synced zz\ndelete a\ndelete a\nput a Box  {\"id\":\"b\"}\n")
	f.Fuzz(func(t *testing.T, text string) {
		w := newWorld(t, Options{DeleteOrphans: true, Concurrency: 1})
		for i, line := range strings.Split(text, "\n") {
			if i > 30 {
				break
			}
			word := strings.SplitN(line, " ", 5)
			word = append(word, make([]string, 5)...)
			c := w.claims[named(word[1])]
			switch {
			case word[0] == "put" && (c == nil || !c.Deleting):
				var items []backend.Item
				if c != nil {
					items = c.Items.List()
				}
				w.put(word[1], append(items, backend.Item{Kind: word[2], Parent: word[3], Body: word[4]})...)
			case word[0] == "delete" && c != nil:
				w.delete(word[1])
			case word[0] == "pushed" && c != nil:
				state, hash, _ := strings.Cut(word[4], " ")
				id, rest, _ := strings.Cut(state, " ")
				c.Pushed = append(c.Pushed, Pushed{Kind: word[2], Parent: word[3], ID: id, State: State(rest), Hash: hash})
			case word[0] == "owner" && c != nil:
				w.change(word[1], func(c *Claim) { c.Owner, c.Current, c.UID = word[2], word[3] != "", types.UID(word[4]) })
			case word[0] == "restart":
				w.restart()
			case word[0] == "drift":
				w.drift()
			}
			w.run(time.Second)
		}
		for _, name := range w.names() {
			w.delete(name.Name)
		}
		w.run(24 * time.Hour)
		if len(w.claims) > 0 {
			t.Fatalf("left: %s", w.dump())
		}
		if n := len(w.engine.x.nodes); n > 0 {
			t.Fatalf("%d nodes are left in the index", n)
		}
	})
}
