// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reader is one whose lists have a continue token, or fail.
type reader struct {
	client.Reader
	token string
	err   error
}

func (l reader) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.SetContinue(l.token)
	return l.err
}

func TestComplete(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		reader reader
		fails  bool
		want   error
	}{
		"complete": {reader: reader{}},
		"a part":   {reader: reader{token: "more"}, fails: true},
		"an error": {reader: reader{err: broken}, fails: true, want: broken},
	} {
		err := Complete(c.reader).List(t.Context(), &corev1.NodeList{})
		if (err != nil) != c.fails || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}
