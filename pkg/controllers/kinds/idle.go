// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kinds

// Idle reports about each kind whose objects are not followed why they are not, for users.
func (s *Set) Idle() []string {
	var idle []string
	for _, kind := range s.kinds {
		if err := s.problem(kind.GroupResource); err != nil {
			idle = append(idle, kind.String()+": "+err.Error())
			continue
		}
		if _, watch := s.watchOf(kind.GroupResource); watch == nil {
			idle = append(idle, kind.String()+" is not served, or of no use here")
		}
	}
	return idle
}
