/* The program that tests copy to hosts. Usage: program version | cat | args ... | exit STATUS | stay */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char b[65536];
	ssize_t n;
	const char *verb = argc > 1 ? argv[1] : "";

	if (!strcmp(verb, "version")) {
		puts("rdmactl v9.8.7 (test, linux)\nsecond /*");
		return 0;
	}
	if (!strcmp(verb, "args")) {
		for (int i = 2; i < argc; i++)
			printf("[%s]", argv[i]);
		return 0;
	}
	if (!strcmp(verb, "exit")) {
		fprintf(stderr, "first line\nno card\n");
		return atoi(argv[2]);
	}
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (!strcmp(verb, "stay")) { /* after the end of its input, against the rules */
		alarm(60);
		pause();
	}
	while ((n = read(0, b, sizeof b)) > 0)
		if (write(1, b, n) != n)
			return 1;
	return 0;
}
