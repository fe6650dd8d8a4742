"""MinBERT: everything at the root."""

from __future__ import annotations

from corpora.guard_courses.course import GuardedCourse, code, filled

BERT = code('''
    """A small BERT."""

    import math

    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    from config import BertConfig


    class BertSelfAttention(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.num_attention_heads = config.num_attention_heads
            self.attention_head_size = int(config.hidden_size / config.num_attention_heads)
            self.all_head_size = self.num_attention_heads * self.attention_head_size
            self.query = nn.Linear(config.hidden_size, self.all_head_size)
            self.key = nn.Linear(config.hidden_size, self.all_head_size)
            self.value = nn.Linear(config.hidden_size, self.all_head_size)
            self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

        def transform(self, x, linear_layer):
            batch, length = x.shape[:2]
            proj = linear_layer(x).view(batch, length, self.num_attention_heads, self.attention_head_size)
            return proj.transpose(1, 2)

        def attention(self, key, query, value, attention_mask):
            """Weights over keys, times values."""
            ### TODO
            raise NotImplementedError

        def forward(self, hidden_states, attention_mask):
            key_layer = self.transform(hidden_states, self.key)
            value_layer = self.transform(hidden_states, self.value)
            query_layer = self.transform(hidden_states, self.query)
            return self.attention(key_layer, query_layer, value_layer, attention_mask)


    class BertLayer(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.self_attention = BertSelfAttention(config)
            self.attention_dense = nn.Linear(config.hidden_size, config.hidden_size)
            self.attention_dropout = nn.Dropout(config.hidden_dropout_prob)

        def add_norm(self, input, output, dense_layer, dropout, ln_layer):
            """The sum of both, normalised."""
            ### TODO
            raise NotImplementedError
''')
BERT_ANSWERS = (
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(self.attention_head_size)
    weights = self.dropout(F.softmax(scores + attention_mask, dim=-1))
    mixed = (weights @ value).transpose(1, 2).contiguous()
    return mixed.view(mixed.size(0), mixed.size(1), self.all_head_size)
    """,
    "return ln_layer(input + dropout(dense_layer(output)))",
)
ADAM = code('''
    """AdamW."""

    import math

    import torch
    from torch.optim import Optimizer


    class AdamW(Optimizer):
        def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
            if lr < 0.0:
                raise ValueError("Invalid learning rate: {} - should be >= 0.0".format(lr))
            defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
            super().__init__(params, defaults)

        def step(self, closure=None):
            loss = None
            if closure is not None:
                loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    grad = p.grad.data
                    state = self.state[p]
                    alpha = group["lr"]
                    ### TODO: update the moments, then the weights
                    raise NotImplementedError
            return loss
''')
ADAM_ANSWER = """
    if not state:
        state["step"], state["m"], state["v"] = 0, torch.zeros_like(grad), torch.zeros_like(grad)
    state["step"] += 1
    first, second = group["betas"]
    state["m"].mul_(first).add_(grad, alpha=1 - first)
    state["v"].mul_(second).addcmul_(grad, grad, value=1 - second)
    rate = alpha * math.sqrt(1 - second ** state["step"]) / (1 - first ** state["step"])
    p.data.addcdiv_(state["m"], state["v"].sqrt().add_(group["eps"]), value=-rate)
    p.data.mul_(1 - alpha * group["weight_decay"])
"""
CLASSIFIER = code("""
    import argparse
    import random

    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch.utils.data import DataLoader, Dataset
    from types import SimpleNamespace

    from bert import BertSelfAttention
    from optimizer import AdamW

    TQDM_DISABLE = True


    def seed_everything(seed=11711):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        torch.cuda.manual_seed(seed)
        torch.cuda.manual_seed_all(seed)
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True


    class BertSentClassifier(torch.nn.Module):
        def __init__(self, config):
            super().__init__()
            self.num_labels = config.num_labels
            ### TODO
            raise NotImplementedError

        def forward(self, input_ids, attention_mask):
            ### TODO
            raise NotImplementedError


    class SentenceDataset(Dataset):
        def __init__(self, dataset, args):
            self.dataset = dataset
            self.p = args

        def __len__(self):
            return len(self.dataset)

        def __getitem__(self, idx):
            return self.dataset[idx]


    def train(args):
        device = torch.device("cuda") if args.use_gpu else torch.device("cpu")
        config = SimpleNamespace(hidden_dropout_prob=args.dropout, num_labels=2, hidden_size=768, option=args.option)
        model = BertSentClassifier(config).to(device)
        optimizer = AdamW(model.parameters(), lr=args.lr)
        for epoch in range(args.epochs):
            model.train()
            for batch in DataLoader(SentenceDataset([], args), shuffle=True, batch_size=args.batch_size):
                optimizer.zero_grad()
                logits = model(batch["token_ids"], batch["attention_mask"])
                loss = F.nll_loss(logits, batch["labels"].view(-1), reduction="sum") / args.batch_size
                loss.backward()
                optimizer.step()


    def get_args():
        parser = argparse.ArgumentParser()
        parser.add_argument("--train", type=str, default="data/cfimdb-train.txt")
        parser.add_argument("--dev", type=str, default="data/cfimdb-dev.txt")
        parser.add_argument("--seed", type=int, default=11711)
        parser.add_argument("--epochs", type=int, default=10)
        parser.add_argument("--use_gpu", action="store_true")
        parser.add_argument("--batch_size", type=int, default=8)
        parser.add_argument("--dropout", type=float, default=0.3)
        parser.add_argument("--lr", type=float, default=1e-5)
        return parser.parse_args()


    if __name__ == "__main__":
        args = get_args()
        args.filepath = f"{args.option}-{args.epochs}-{args.lr}.pt"
        seed_everything(args.seed)
        train(args)
""")
HEAD = """
    self.bert = BertSelfAttention(config)
    self.dropout = torch.nn.Dropout(config.hidden_dropout_prob)
    self.classifier = torch.nn.Linear(config.hidden_size, self.num_labels)
    for name, parameter in self.bert.named_parameters():
        parameter.requires_grad = config.option == "finetune" and not name.endswith("position")
"""
HEAD_FORWARD = """
    first = self.bert(input_ids, attention_mask)[:, 0]
    return F.log_softmax(self.classifier(self.dropout(first)), dim=-1)
"""
MULTITASK = CLASSIFIER.replace("BertSentClassifier", "MultitaskBERT").replace("num_labels=2", "num_labels=5")
CONFIG = code("""
    class BertConfig:
        def __init__(self, vocab_size=30522, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                     hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, layer_norm_eps=1e-12, **kwargs):
            self.vocab_size = vocab_size
            self.hidden_size = hidden_size
            self.num_hidden_layers = num_hidden_layers
            self.num_attention_heads = num_attention_heads
            self.hidden_dropout_prob = hidden_dropout_prob
            self.attention_probs_dropout_prob = attention_probs_dropout_prob
            self.layer_norm_eps = layer_norm_eps
""")
MINBERT = GuardedCourse(
    assignment="minbert",
    files={
        "README.md": "# A small BERT\n",
        "bert.py": BERT,
        "optimizer.py": ADAM,
        "classifier.py": CLASSIFIER,
        "multitask_classifier.py": MULTITASK,
        "config.py": CONFIG,
        "utils.py": "import os\n\n\ndef is_remote_url(name):\n    return name.startswith(('http://', 'https://'))\n",
        "optimizer_test.py": "import numpy as np\nimport torch\n\nfrom optimizer import AdamW\n\n\n"
        "def test_optimizer(opt_class=AdamW):\n    model = torch.nn.Linear(3, 2, bias=False)\n"
        "    opt = opt_class(model.parameters(), lr=1e-3, weight_decay=1e-4)\n    for _ in range(1000):\n"
        "        opt.zero_grad()\n        y = model(torch.rand(3))\n        (y ** 2).sum().backward()\n"
        "        opt.step()\n",
        "sanity_check.py": "import torch\n\nfrom bert import BertLayer\n\nprint(torch.load('sanity_check.data'))\n",
        "solutions/bert.py": filled(BERT, *BERT_ANSWERS),
        "solutions/optimizer.py": filled(ADAM, ADAM_ANSWER),
        "solutions/classifier.py": filled(CLASSIFIER, HEAD, HEAD_FORWARD),
        "solutions/multitask_classifier.py": MULTITASK,
        "solutions/config.py": CONFIG,
    },
    answers=(BERT_ANSWERS[0], ADAM_ANSWER),
    starters=("bert.py", "optimizer.py", "classifier.py"),
)
