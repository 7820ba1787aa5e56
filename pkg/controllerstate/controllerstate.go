// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package controllerstate is what the controller manager publishes of its controllers in its Lease, so that a client finds out what runs,
// and not only what the configuration requests.
package controllerstate

import (
	"encoding/json"
	"fmt"
)

// Annotation is that of the Lease. Its value is a JSON object of State by the names of the controllers. The holder of the Lease writes it
// with each renewal, and removes it when it releases the Lease.
const Annotation = "groundskeeper.io/controllers"

// States of a controller.
const (
	Disabled = "disabled"
	// Starting means that it fills its caches.
	Starting = "starting"
	// Waiting means that the controller lacks permissions.
	Waiting = "waiting"
	// Standby means that another replica runs it.
	Standby = "standby"
	Running = "running"
)

// State is that of a controller.
type State struct {
	State string `json:"state"`
	// Reason is why it is disabled, or which permissions it lacks, with what grants them.
	Reason string `json:"reason,omitempty"`
	// Findings are sentences about what the controller found that belongs to no object, and that a user has to decide.
	Findings []string `json:"findings,omitempty"`
}

// Encode returns the value of the annotation.
func Encode(states map[string]State) string {
	text, err := json.Marshal(states)
	if err != nil {
		return "{}" // it has only strings
	}
	return string(text)
}

// Of returns what a Lease with these annotations has, nil when that is nothing: the manager is of an earlier version.
func Of(annotations map[string]string) (map[string]State, error) {
	text, ok := annotations[Annotation]
	if !ok {
		return nil, nil
	}
	var states map[string]State
	if err := json.Unmarshal([]byte(text), &states); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", Annotation, err)
	}
	return states, nil
}
