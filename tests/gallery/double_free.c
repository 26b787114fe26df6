// SPDX-License-Identifier: MIT
// Two owners of one buffer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct message {
	char *text;
	size_t length;
};

static struct message *message_new(const char *text)
{
	struct message *message = malloc(sizeof *message);

	message->length = strlen(text);
	message->text = strdup(text);
	return message;
}

static struct message *message_reply(const struct message *to)
{
	struct message *message = malloc(sizeof *message);

	*message = *to; // and so the text
	return message;
}

static void message_free(struct message *message)
{
	free(message->text); // HERE
	free(message);
}

int main(void)
{
	struct message *question = message_new("how are you, after all these years?");
	struct message *answer = message_reply(question);

	printf("%s\n", answer->text);
	message_free(question);
	message_free(answer);
	return 0;
}
