package timeline

import "context"

// Whole is a store that can list everything it keeps, so that it can be copied.
type Whole interface {
	Store
	// Tenants returns the names of all tenants, sorted.
	Tenants(ctx context.Context) ([]string, error)
	// AllRecords returns a conversation's records of all kinds, in the order in which they
	// were first written.
	AllRecords(ctx context.Context, tenant, conversation string) ([]Record, error)
	// DerivedKinds returns the kinds of a tenant's derived data, sorted.
	DerivedKinds(ctx context.Context, tenant string) ([]string, error)
}
