// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lists is a reader whose lists have a continue token, or fail.
type lists struct {
	client.Reader
	token string
	err   error
}

func (l lists) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.SetContinue(l.token)
	return l.err
}

func TestCompleteLists(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		lists lists
		fails bool
		want  error
	}{
		"complete": {lists: lists{}},
		"a part":   {lists: lists{token: "more"}, fails: true},
		"an error": {lists: lists{err: broken}, fails: true, want: broken},
	} {
		err := CompleteLists(c.lists).List(t.Context(), &corev1.NodeList{})
		if (err != nil) != c.fails || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}
