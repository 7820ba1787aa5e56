// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Write is one write of a controller.
type Write struct {
	// Verb is "create", "apply", "patch status" and the like.
	Verb, Kind, Namespace, Name string
	// Object is what was written, or the apply configuration. Patch is the body of a patch.
	Object any
	Patch  string
	text   string
}

// String returns the write as the log has it.
func (w Write) String() string { return w.text }

// Log returns the writes of Client since Reset.
func (s *Server) Log() []Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Writes returns Log as texts.
func (s *Server) Writes() []string {
	var all []string
	for _, w := range s.Log() {
		all = append(all, w.String())
	}
	return all
}

// Verbs returns the verbs of Log.
func (s *Server) Verbs() []string {
	var all []string
	for _, w := range s.Log() {
		all = append(all, w.Verb)
	}
	return all
}

// Count returns the number of writes in Log.
func (s *Server) Count() int { return len(s.Log()) }

// ResetLog discards the log.
func (s *Server) ResetLog() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = nil
}

// Reset discards the log and the faults.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.Fault, s.Lost = nil, nil, false
}

// handle makes a client comparable: controllers compare the reader that they are given with the clients that they have.
type handle struct{ client.WithWatch }

// Live returns the client that a controller reads with past its cache.
func (s *Server) Live() client.WithWatch {
	return &handle{interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if given := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions; given != nil {
				if err := s.meets(ctx, object, given); err != nil {
					return err
				}
			}
			return c.Delete(ctx, object, options...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := failed(s.Read, "get", object); err != nil {
				return err
			}
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := failed(s.Read, "list", list); err != nil {
				return err
			}
			err := c.List(ctx, list, options...)
			if s.Partial {
				list.SetContinue("more")
			}
			return err
		},
	})}
}

// Uncached returns the client of a process that has no cache in its client: it reads as Live does, and writes as Client does.
func (s *Server) Uncached() client.WithWatch {
	live := s.Live()
	return &handle{interceptor.NewClient(s.Client(), interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return live.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return live.List(ctx, list, options...)
		},
	})}
}

// Client returns the client of a controller: it reads the cache, and its writes are logged. A deletion needs the uid and the
// resourceVersion as preconditions, a merge patch the resourceVersion; an update in place of a patch is an error.
func (s *Server) Client() client.WithWatch {
	return &handle{interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		Get: s.get, List: s.list,
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return s.write("create", object, func() error {
				if err := s.admit(ctx, object.GetNamespace()); err != nil {
					return err
				}
				s.identify(object)
				return c.Create(ctx, object, options...)
			})
		},
		Update: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.UpdateOption) error {
			return s.write("update", object, func() error { return fmt.Errorf("%T %s is updated: apply or patch it", object, object.GetName()) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			data, err := patch.Data(object)
			if err != nil {
				return err
			}
			return s.send(Write{Verb: "patch", Object: object, Patch: string(data)}, func() error {
				if err := s.guarded(ctx, object, patch.Type(), data); err != nil {
					return err
				}
				return c.Patch(ctx, object, patch, options...)
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return s.write("delete", object, func() error {
				if err := s.same(ctx, object, options); err != nil {
					return err
				}
				return c.Delete(ctx, object, options...)
			})
		},
		Apply: func(ctx context.Context, c client.WithWatch, applied runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return s.write("apply", applied, func() error { return s.apply(ctx, c, applied, options) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, object client.Object, options ...client.SubResourceUpdateOption) error {
			return s.write("update "+name, object, func() error {
				if object.GetUID() == "" || object.GetResourceVersion() == "" {
					return fmt.Errorf("an update of the %s of %s with version %q and uid %q", name, object.GetName(), object.GetResourceVersion(), object.GetUID())
				}
				return c.SubResource(name).Update(ctx, object, options...)
			})
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return s.write("patch "+name, object, func() error { return c.SubResource(name).Patch(ctx, object, patch, options...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, name string, applied runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			return s.write("apply "+name, applied, func() error {
				if err := s.present(ctx, applied); err != nil {
					return err
				}
				return c.SubResource(name).Apply(ctx, applied, options...)
			})
		},
	})}
}

func (s *Server) write(verb string, object any, do func() error) error {
	return s.send(Write{Verb: verb, Object: object}, do)
}

// send logs a write and does it, unless it is to fail.
func (s *Server) send(w Write, do func() error) error {
	applied, err := metadataOf(w.Object)
	if err != nil {
		return err
	}
	w.Kind, w.Namespace, w.Name = applied.Kind, applied.Namespace, applied.Name
	w.text = w.Verb + " " + w.Kind + " " + w.Name
	if s.Describe != nil {
		w.text = s.Describe(w)
	}
	s.mu.Lock()
	number, fault := len(s.log), s.Fault
	s.log = append(s.log, w)
	s.mu.Unlock()
	if err := s.failed(fault, number, w); err != nil {
		if s.Lost {
			_ = do()
		}
		return err
	}
	if s.Reject != nil {
		if err := s.Reject(w); err != nil {
			return err
		}
	}
	return do()
}

func (s *Server) failed(fault func(int, Write) error, number int, w Write) error {
	s.faults.Lock()
	defer s.faults.Unlock()
	if fault == nil {
		return nil
	}
	return fault(number, w)
}

func failed(read func(string, runtime.Object) error, verb string, object runtime.Object) error {
	if read == nil {
		return nil
	}
	return read(verb, object)
}

// get reads the cache.
func (s *Server) get(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := failed(s.ReadCache, "get", object); err != nil {
		return err
	}
	s.mu.Lock()
	seen, held := s.held[refOf(object, key)]
	s.mu.Unlock()
	if !held {
		if err := s.cache(c, object).Get(ctx, key, object, options...); err != nil {
			return err
		}
		if s.Cached == nil || s.Cached(object) {
			return nil
		}
	}
	if seen == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: reflect.TypeOf(object).Elem().Name()}, key.Name)
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(seen.DeepCopyObject()).Elem())
	return nil
}

// list reads the cache. Of what the cache still has, the selectors of fields are not evaluated.
func (s *Server) list(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	if err := failed(s.ReadCache, "list", list); err != nil {
		return err
	}
	if err := s.cache(c, list).List(ctx, list, options...); err != nil {
		return err
	}
	list.SetContinue("continue-not-supported") // as controller-runtime's cache does for every list
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 && s.Cached == nil {
		return nil
	}
	found, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	known := slices.DeleteFunc(found, func(item runtime.Object) bool {
		object := item.(client.Object)
		_, held := s.held[refOf(object, client.ObjectKeyFromObject(object))]
		return held || s.Cached != nil && !s.Cached(object)
	})
	given := (&client.ListOptions{}).ApplyOptions(options)
	items, _ := reflect.TypeOf(list).Elem().FieldByName("Items")
	for of, seen := range s.held {
		if seen == nil || of.kind != reflect.PointerTo(items.Type.Elem()) || given.Namespace != "" && given.Namespace != of.key.Namespace ||
			given.LabelSelector != nil && !given.LabelSelector.Matches(labels.Set(seen.GetLabels())) {
			continue
		}
		known = append(known, seen.DeepCopyObject())
	}
	return meta.SetList(list, known)
}
