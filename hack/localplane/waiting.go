// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// waiting returns a line for each reason for which controllers wait for permissions, from the status page of the controller
// manager. They start automatically once these are granted. A gap in the page is no reason to fail, because all processes are
// ready.
func waiting(ctx context.Context, page string) []string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil
	}
	request.Header.Set("Accept", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	var status struct {
		Controllers []struct {
			Name, State string
			Why         []string
		}
	}
	if json.NewDecoder(response.Body).Decode(&status) != nil {
		return nil
	}
	names := map[string][]string{}
	for _, c := range status.Controllers {
		if c.State == "waiting" {
			reason := strings.Join(c.Why, "; ")
			names[reason] = append(names[reason], c.Name)
		}
	}
	var lines []string
	for _, reason := range slices.Sorted(maps.Keys(names)) {
		lines = append(lines, fmt.Sprintf("%-32s off: %s (%s)", "Controllers", reason, strings.Join(names[reason], ", ")))
	}
	return lines
}
