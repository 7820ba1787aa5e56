// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package linearizability

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// History records requests of several clients. It is safe for concurrent use.
type History struct {
	begin time.Time
	mu    sync.Mutex
	calls []porcupine.Operation
}

// NewHistory returns an empty history.
func NewHistory() *History { return &History{begin: time.Now()} }

// Do records a request that a client makes.
func (h *History) Do(client int, request Request, do func(Request) Response) Response {
	called := time.Since(h.begin).Nanoseconds()
	response := do(request)
	returned := time.Since(h.begin).Nanoseconds()
	if response.Result == Unknown {
		if request.Verb == Get { // it changes nothing
			return response
		}
		returned = math.MaxInt64 // it may be done at any time
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, porcupine.Operation{ClientId: client, Input: request, Call: called, Output: response, Return: returned})
	return response
}

// Results counts the requests by verb and result.
func (h *History) Results() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := map[string]int{}
	for _, call := range h.calls {
		counts[string(call.Input.(Request).Verb)+" "+string(call.Output.(Response).Result)]++
	}
	return counts
}

// Check returns nil when the history is linearizable. If not, the error has a small part of it that is not. It is also an error
// that the check takes longer than the limit.
func (h *History) Check(limit time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch porcupine.CheckOperationsTimeout(Model(), h.calls, limit) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("%d requests were not checked within %s", len(h.calls), limit)
	}
	small := shrink(h.calls, func(calls []porcupine.Operation) bool {
		return porcupine.CheckOperationsTimeout(Model(), calls, limit) == porcupine.Illegal
	})
	slices.SortFunc(small, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var lines strings.Builder
	for _, call := range small {
		end := "never"
		if call.Return != math.MaxInt64 {
			end = time.Duration(call.Return).Round(time.Microsecond).String()
		}
		fmt.Fprintf(&lines, "\n%s to %s: client %d: %s", time.Duration(call.Call).Round(time.Microsecond), end, call.ClientId,
			describe(call.Input.(Request), call.Output.(Response)))
	}
	return fmt.Errorf("no order of these %d of %d requests explains their responses:%s", len(small), len(h.calls), lines.String())
}

// shrink returns a small part of a history that is illegal, as the whole is. What it leaves out cannot be the cause: what begins
// later, and requests that changed nothing. What is still under way where it cuts is of unknown result.
func shrink(calls []porcupine.Operation, illegal func([]porcupine.Operation) bool) []porcupine.Operation {
	ends := make([]int64, 0, len(calls))
	for _, call := range calls {
		if call.Return != math.MaxInt64 {
			ends = append(ends, call.Return)
		}
	}
	slices.Sort(ends)
	first, _ := slices.BinarySearchFunc(ends, true, func(end int64, _ bool) int {
		if illegal(until(calls, end)) {
			return 0
		}
		return -1
	})
	if first < len(ends) {
		calls = until(calls, ends[first])
	}
	for i := len(calls) - 1; i >= 0; i-- {
		if !changesNothing(calls[i]) {
			continue
		}
		if fewer := slices.Delete(slices.Clone(calls), i, i+1); illegal(fewer) {
			calls = fewer
		}
	}
	return calls
}

// until returns the history at a time.
func until(calls []porcupine.Operation, end int64) []porcupine.Operation {
	var before []porcupine.Operation
	for _, call := range calls {
		switch {
		case call.Return <= end:
			before = append(before, call)
		case call.Call <= end && call.Input.(Request).Verb != Get:
			call.Output, call.Return = Response{Result: Unknown}, math.MaxInt64
			before = append(before, call)
		}
	}
	return before
}

// changesNothing reports whether a request was not done, or reads only.
func changesNothing(call porcupine.Operation) bool {
	result := call.Output.(Response).Result
	return call.Input.(Request).Verb == Get || result != OK && result != Unknown
}
