/* Prints size and offsets of the structs that layout.go mirrors, for layout_test.go: the compiler
 * and the installed header decide, not the author. FIELDS is a list that the test generates. */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf(#type " sizeof %zu\n", sizeof(struct type));
#define FIELD(type, field)                                                     \
	printf(#type " " #field " %zu %zu\n", offsetof(struct type, field),     \
	       sizeof(((struct type *)0)->field));
#define DISTANCE(field)                                                        \
	printf("verbs_context " #field " %zu\n",                               \
	       offsetof(struct verbs_context, context) -                       \
		       offsetof(struct verbs_context, field));

int main(void)
{
#include "fields.h"
	return 0;
}
