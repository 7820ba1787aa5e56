// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// maxNamed is how many routes of each outcome of an assumption are named.
const maxNamed = 20

// WhatIf is what becomes of the routes of a backend.
type WhatIf struct {
	Backend string `json:"backend"`
	Status  string `json:"status"`
	// Routes refer to it. Of these, Fails return errors, Keeps continue to send to it, and Moves send less or nothing to it, or more.
	Routes int   `json:"routes"`
	Fails  Named `json:"fails"`
	Keeps  Named `json:"keeps"`
	Moves  Named `json:"moves"`
}

// Named are routes, of which the first ones are named.
type Named struct {
	Count int      `json:"count"`
	Names []string `json:"names"`
}

func (n *Named) add(name string) {
	n.Count++
	if len(n.Names) < maxNamed {
		n.Names = append(n.Names, name)
	}
}

// count adds a route to the outcomes of the assumption.
func (w *WhatIf) count(r *FlowRoute) {
	refers, fails, keeps, moves := false, false, false, false
	for i := range r.Links {
		l := &r.Links[i]
		if l.Backend != w.Backend {
			continue
		}
		refers = true
		fails = fails || l.State == linkFails
		if l.State == linkAlone && w.Status == string(gimbalv1.ClusterMaintenance) {
			keeps, l.State = true, linkKept
		}
		moves = moves || l.Now != l.Next
	}
	if !refers {
		return
	}
	w.Routes++
	switch {
	case fails:
		w.Fails.add(r.label())
	case keeps:
		w.Keeps.add(r.label())
	case moves:
		w.Moves.add(r.label())
	}
}
