// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"fmt"
)

// listings measures listings of many objects, from the cache and consistent ones. The objects are made once for each of the
// two servers, and stay.
func (c *comparison) listings(ctx context.Context) error {
	all, err := contenders(c.Plane, administrator)
	if err != nil {
		return err
	}
	for _, objects := range c.Lists {
		spaces := map[string]string{}
		for _, turn := range all {
			if spaces[turn.root] != "" {
				continue
			}
			space, err := c.space(ctx)
			if err != nil {
				return err
			}
			if _, err := turn.fill(ctx, space, objects); err != nil {
				return err
			}
			spaces[turn.root] = space
		}
		times := max(3, 30000/objects)
		for _, kind := range []struct{ name, query string }{{"cached", "?resourceVersion=0"}, {"consistent", ""}} {
			results := rounds{}
			for round := range c.Rounds {
				for i := range all {
					turn := all[(i+round)%len(all)]
					r, err := turn.lists(ctx, c.Plane, spaces[turn.root], kind.query, times)
					if err != nil {
						return fmt.Errorf("%s: %w", turn.name, err)
					}
					results[turn.name] = append(results[turn.name], r)
				}
			}
			if err := c.report(fmt.Sprintf("list %d, %s", objects, kind.name), results); err != nil {
				return err
			}
		}
	}
	return nil
}
