// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/test/plane"
)

// metric returns the sum of all values of a metric that a controller manager shows.
func metric(ctx context.Context, manager *plane.Process, name string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+manager.Address()+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	sum, found := 0.0, false
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		series, value, _ := strings.Cut(lines.Text(), " ")
		if before, _, _ := strings.Cut(series, "{"); before != name {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		sum, found = sum+number, true
	}
	if !found && lines.Err() == nil {
		return 0, fmt.Errorf("%s has no metric %s", manager.Name(), name)
	}
	return sum, lines.Err()
}

// leaderOf waits until one of the managers leads, and returns it and the others that run.
func leaderOf(t *testing.T, managers []*plane.Process) (leader *plane.Process, others []*plane.Process) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		leader, others = nil, nil
		for _, manager := range managers {
			if manager.PID() == 0 {
				continue
			}
			leads, err := metric(ctx, manager, "leader_election_master_status")
			if err != nil {
				return err
			}
			if leads == 1 {
				leader = manager
			} else {
				others = append(others, manager)
			}
		}
		if leader == nil {
			return fmt.Errorf("none of %d managers leads", len(managers))
		}
		return nil
	})
	return leader, others
}

// passes is how many checks Projects the leading manager has finished.
func passes(t *testing.T, managers []*plane.Process) float64 {
	t.Helper()
	leader, _ := leaderOf(t, managers)
	count := 0.0
	eventually(t, func(ctx context.Context) (err error) {
		count, err = metric(ctx, leader, "groundskeeper_project_reconciles_total")
		return err
	})
	return count
}

// idle waits until the leading manager has finished that many checks Projects, and has nothing else to do.
func idle(t *testing.T, managers []*plane.Process, atLeast float64) {
	t.Helper()
	leader, _ := leaderOf(t, managers)
	eventually(t, func(ctx context.Context) error {
		for name, isDone := range map[string]func(float64) bool{
			"groundskeeper_project_reconciles_total": func(count float64) bool { return count >= atLeast },
			"workqueue_depth":                        func(waiting float64) bool { return waiting == 0 },
			"controller_runtime_active_workers":      func(active float64) bool { return active == 0 },
		} {
			value, err := metric(ctx, leader, name)
			if err != nil {
				return err
			}
			if !isDone(value) {
				return fmt.Errorf("%s of %s is %g, %g passes are awaited", name, leader.Name(), value, atLeast)
			}
		}
		return nil
	})
}
